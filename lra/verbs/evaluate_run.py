"""The test of a trained run that `lra evaluate` prints."""

from collections.abc import Mapping
from pathlib import Path

import torch
from omegaconf import DictConfig, OmegaConf
from torch import Tensor

from lra.base.text import visible
from lra.from_config import build_data, build_datamodule, build_module, build_trained_model, machine_and_loggers
from lra.run import Run
from lra.runs.files import BEST
from lra.settings.check import check_config
from lra.settings.processes_and_parts import num_processes, use_one_device
from lra.terminal.console import make_console
from lra.training.compiled import compile_model
from lra.training.correct_examples import correct_examples
from lra.training.loop_settings import TrainerAdditions
from lra.types import UserError
from lra.verbs.train_summary import print_predictions


def evaluate_run(cfg: DictConfig, trainer: Mapping[str, object]) -> None:
    """Test the run that `cfg.run` and `cfg.seed` name, and compare its accuracy with the recorded one.

    Args:
        cfg: the configuration of `lra evaluate`.
        trainer: options of the trainer that differ from those of the training.

    Raises:
        UserError: when there is no such run, or it has another accuracy.
    """
    console = make_console()
    run = Run.find(str(cfg.run), runs=Path(cfg.paths.runs), seed=OmegaConf.select(cfg, "seed"))
    trained = run.config_with(cfg.paths)
    console.print(visible(str(run.folder)), style="dim")
    if num_processes(trained) > 1:
        trained_on = f"trained on {num_processes(trained)} devices"
        console.print(f"{trained_on}, tested here on one device, with the same batches")
        use_one_device(trained)
    if trained.trainer.get("data_on_device"):
        trained.trainer.data_on_device = False  # for one pass it need not be copied; the batches are the same
    if trainer:
        trained.trainer.update(trainer)
        check_config(trained, None)
    correct = _correct(trained, run)
    accuracy = correct.float().mean().item()
    console.print(f"test accuracy {accuracy:.4%} over {len(correct):,} examples")
    print_predictions(console, trained, run, cfg.predictions)
    record = run.record
    if record is None:
        console.print("the run has no result yet to compare with")
    elif record.test_accuracy == accuracy:
        console.print("the same as recorded, to the last digit")
    else:
        line = f"the recorded accuracy is {record.test_accuracy:.4%}: other data, machine or code since?"
        raise UserError(line)


def _correct(trained: DictConfig, run: Run) -> Tensor:
    """Tell which test examples the best checkpoint predicts right, `[examples]` bool."""
    machine = machine_and_loggers.build_machine(trained)
    added = TrainerAdditions(arguments=machine_and_loggers.build_trainer_arguments(trained))
    if not added.arguments:
        batches, model = build_data(trained).test_dataloader(), build_trained_model(trained, run.folder)
        compile_model(model, trained.get("compile"))
        return correct_examples(model, batches, machine)
    from lra.training import run as training

    module = build_module(trained)
    # Only Lightning's Trainer knows what its arguments mean.
    training.test(module, build_datamodule(trained), run.folder / BEST, machine, added)
    return torch.cat(module.correct)
