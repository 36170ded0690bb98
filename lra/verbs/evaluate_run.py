"""The test of a trained run that `lra evaluate` prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
from rich.console import Console
from torch import Tensor

from lra.base.text import visible
from lra.from_config import build_data, build_datamodule, build_module, build_trained_model, machine_and_loggers
from lra.run import Run
from lra.runs.files import BEST
from lra.settings.check import check_config
from lra.settings.command_options import Evaluate
from lra.settings.run_config import RunConfig
from lra.terminal.console import make_console
from lra.training.compiled import compile_model
from lra.training.correct_examples import correct_examples
from lra.training.loop_settings import TrainerAdditions
from lra.types import UserError
from lra.verbs.train_summary import Prediction, predict_examples, print_predictions

if TYPE_CHECKING:
    from lra.verbs.evaluate_pretraining import PretrainingEvaluation


@dataclass(frozen=True, kw_only=True)
class Evaluation:
    """The test of a trained run.

    Attributes:
        run: the run.
        accuracy: a fraction in [0, 1].
        examples: the number of test examples.
        recorded: the recorded accuracy; None without a record.
        predictions: some examples, with the guesses.
        pretraining: the test of its pretraining; None if there was none.
    """

    run: Run
    accuracy: float
    examples: int
    recorded: float | None
    predictions: list[Prediction]
    pretraining: PretrainingEvaluation | None = None

    @property
    def is_as_recorded(self) -> bool:
        """Whether the accuracy is the recorded one, to the last digit."""
        return self.accuracy == self.recorded

    def show(self, console: Console) -> None:
        """Print the accuracy beside the recorded one.

        Raises:
            UserError: when the run has another accuracy.
        """
        print_predictions(console, self.predictions)
        if self.pretraining is not None:
            self.pretraining.show(console)
        console.print(f"test accuracy {self.accuracy:.4%} over {self.examples:,} examples")
        if self.recorded is None:
            console.print("the run has no result yet to compare with")
        elif self.is_as_recorded:
            console.print("the same as recorded, to the last digit")
        else:
            line = f"the recorded accuracy is {self.recorded:.4%}: other data, machine or code since?"
            raise UserError(line, kind="other_accuracy", key=str(self.run.folder), value=self.accuracy)


def evaluate_run(run: Run, cfg: Evaluate, trainer: Mapping[str, object]) -> Evaluation:
    """Test a run, and compare its accuracy with the recorded one.

    Args:
        run: the run.
        cfg: the configuration of `lra evaluate`.
        trainer: options of the trainer that differ from those of the training.
    """
    console = make_console()
    trained = run.config_at(cfg)
    console.print(visible(str(run.folder)), style="dim")
    if trained.num_processes > 1:
        trained_on = f"trained on {trained.num_processes} devices"
        console.print(f"{trained_on}, tested here on one device, with the same batches")
        trained = trained.on_one_device()
    # For one pass the data need not be copied to the device; the batches are the same.
    trained = trained.changed({"trainer.data_on_device": False, **{f"trainer.{key}": trainer[key] for key in trainer}})
    if trainer:
        check_config(trained, None)
    correct = _correct(trained, run)
    record = run.record
    return Evaluation(
        run=run,
        accuracy=correct.float().mean().item(),
        examples=len(correct),
        recorded=None if record is None else record.test_accuracy,
        predictions=predict_examples(trained, run, cfg.predictions),
        pretraining=_pretraining(trained, run),
    )


def _pretraining(trained: RunConfig, run: Run) -> PretrainingEvaluation | None:
    """Test the pretraining of a run that has one of its own."""
    if not trained.is_pretrained or trained.taken_from is not None:
        return None
    from lra.verbs.evaluate_pretraining import evaluate_pretraining  # its data module imports Lightning

    return evaluate_pretraining(trained, run)


def _correct(trained: RunConfig, run: Run) -> Tensor:
    """Tell which test examples the best checkpoint predicts right, `[examples]` bool."""
    machine = machine_and_loggers.build_machine(trained)
    added = TrainerAdditions(arguments=machine_and_loggers.build_trainer_arguments(trained))
    if not added.arguments:
        batches, model = build_data(trained).test_dataloader(), build_trained_model(trained, run.folder)
        compile_model(model, trained.compile)
        return correct_examples(model, batches, machine)
    from lra.training import run as training

    module = build_module(trained)
    # Only Lightning's Trainer knows what its arguments mean.
    training.test(module, build_datamodule(trained), run.folder / BEST, machine, added)
    return torch.cat(module.correct)
