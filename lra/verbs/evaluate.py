"""lra evaluate: test a run's best checkpoint again, in this process and on one device.

  lra evaluate run=runs/default/listops/nystrom/paper-full-5000steps-1a2b3c4d/seed0
  lra evaluate run=runs/default/listops/nystrom/…/seed0 predictions=3    shows test examples with their predictions too

Prints the accuracy, and whether it equals the recorded accuracy. The record is not changed.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from torch import Tensor


def run(cfg: DictConfig) -> None:
    """Test the run whose folder is `cfg.run`."""
    from omegaconf import OmegaConf

    from lra.runs.record import read_record
    from lra.settings.stored_config import read_trained_config
    from lra.terminal.console import make_console
    from lra.types import UserError
    from lra.verbs.write_predictions import print_predictions

    console = make_console()
    if OmegaConf.select(cfg, "run") is None:
        raise UserError("no run is named; type for example: lra evaluate run=runs/default/listops/nystrom/…/seed0")
    folder = Path(cfg.run).expanduser()
    trained = read_trained_config(folder, cfg.paths)
    if trained.trainer.devices > 1:
        console.print(f"trained on {trained.trainer.devices} devices, tested here on one: the batches are the same")
        trained.trainer.devices = 1
    if trained.trainer.get("data_on_device"):
        trained.trainer.data_on_device = False  # for one pass it need not be copied; the batches are the same
    correct = _correct(trained, folder)
    accuracy = correct.float().mean().item()
    console.print(f"test accuracy {accuracy:.4%} over {len(correct):,} examples")
    print_predictions(console, trained, folder, cfg.predictions)
    record = read_record(folder)
    if record is None:
        console.print("the run has no result yet to compare with")
    elif record["outcome"]["test_accuracy"] == accuracy:
        console.print("the same as recorded, to the last digit")
    else:
        raise UserError(f"the record says {record['outcome']['test_accuracy']:.4%}: other data, machine or code since?")


def _correct(trained: DictConfig, folder: Path) -> Tensor:
    """Tell which test examples the best checkpoint predicts right, `[examples]` bool."""
    from lra import build
    from lra.build import trainer as build_trainer

    machine = build_trainer.build_machine(trained)
    arguments = build_trainer.build_trainer_arguments(trained)
    if not arguments:
        from lra.training.compiled import compile_model
        from lra.training.evaluation import correct_predictions

        data, model = build.build_data(trained), build.build_trained_model(trained, folder)
        compile_model(model, trained.get("compile"))
        return correct_predictions(model, data.test_dataloader(), machine)
    import torch

    from lra.runs.files import BEST
    from lra.training import run as training

    module = build.build_module(trained)
    training.test(  # only Lightning's Trainer knows what its arguments mean
        module,
        build.build_datamodule(trained),
        checkpoint=folder / BEST,
        machine=machine,
        loggers=[],
        trainer_arguments=arguments,
    )
    return torch.cat(module.correct)
