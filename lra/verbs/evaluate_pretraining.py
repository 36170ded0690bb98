"""What `lra evaluate` says of a run's pretraining: its best weights, tested on masked positions of the dev part."""

from dataclasses import dataclass

from rich.console import Console

from lra.from_config import machine_and_loggers
from lra.from_config.pretraining import build_pretraining
from lra.run import Run
from lra.runs.files import BEST, PRETRAINING
from lra.settings.pretrain import stage_config
from lra.settings.run_config import RunConfig
from lra.training.checkpoints import read_matching_weights
from lra.training.machine import inference_on
from lra.types import to_device


@dataclass(frozen=True, kw_only=True)
class PretrainingEvaluation:
    """How well the best weights of a pretraining predict what is masked.

    Attributes:
        accuracy: that of the masked positions, see `lra.runs.schema.Pretraining`.
        loss: their mean cross-entropy, in nats; or the mean absolute error of values.
        positions: the number of masked positions.
        recorded: the recorded accuracy; None without a record.
    """

    accuracy: float
    loss: float
    positions: int
    recorded: float | None

    @property
    def is_as_recorded(self) -> bool:
        """Whether the accuracy is the recorded one, to the last digit."""
        return self.accuracy == self.recorded

    def show(self, console: Console) -> None:
        """Print accuracy and loss, and whether the accuracy is the recorded one."""
        share = f"accuracy {self.accuracy:.4%} at {self.positions:,} masked positions of dev"
        if self.is_as_recorded:
            share += ", the same as recorded"
        elif self.recorded is not None:
            share += f"; recorded: {self.recorded:.4%}"
        console.print(f"pretraining: {share}; loss {self.loss:.4f}")


def evaluate_pretraining(trained: RunConfig, run: Run) -> PretrainingEvaluation:
    """Test the pretraining of a run on the dev part.

    Args:
        trained: the run's configuration, for one device.
        run: the run, whose pretraining has had a dev pass.

    Raises:
        UserError: when its checkpoint is missing or damaged.
    """
    stage = stage_config(trained)
    module, data = build_pretraining(stage)
    module.model.load_state_dict(read_matching_weights(run.folder / PRETRAINING / BEST, module.model))
    machine = machine_and_loggers.build_machine(stage)
    positions = 0
    with inference_on(machine, module):
        for batch in data.val_dataloader():
            module.eval_step(to_device(batch, machine.device))
            positions += len(batch.label)
    first = None if (record := run.record) is None else record.pretraining
    return PretrainingEvaluation(
        accuracy=module.eval_accuracy.compute().item(),
        loss=module.eval_loss.compute().item(),
        positions=positions,
        recorded=None if first is None else first["dev_accuracy"],
    )
