"""Test a model on sequences longer than those of its training: twice and four times, where a probe can draw them."""

from typing import Any

from rich.console import Console
from torch import nn

from lra.base.paths import read_choice
from lra.base.probes import is_tested_longer
from lra.from_config import build_data, build_model, build_trained_model, machine_and_loggers
from lra.from_config.store import ensure_store
from lra.run import Run
from lra.runs.schema import Record
from lra.settings.run_config import RunConfig
from lra.training.correct_examples import correct_examples
from lra.training.machine import Machine
from lra.verbs.train_record import add_measured

FACTORS = (2, 4)


def add_longer(
    record: Record, run: Run, cfg: RunConfig, model: nn.Module, machine: Machine, console: Console
) -> Record:
    """Test a trained model on longer sequences, and add the accuracies to the record, which the run has already."""
    if not is_tested_longer(cfg.task.name, cfg.model.get("positions", "learned")):
        return record

    def measure() -> dict[str, Any]:
        accuracies = {}
        for factor in FACTORS:
            longer = _longer(cfg, factor)
            ensure_store(longer, console)
            accuracies[str(longer.task.data.seq_len)] = _accuracy(longer, model, machine)
        return {"longer": accuracies}

    return add_measured(record, run, measure, console, what="the accuracies on longer sequences")


def add_missing_longer(cfg: RunConfig, run: Run, console: Console) -> Record | None:
    """Add the accuracies to the record of a finished run that a kill has left without them, with its best weights.

    Returns:
        The record with them; None if there is nothing to add, or another process is at work on the run.
    """

    def add(record: Record) -> Record:
        machine = machine_and_loggers.build_machine(cfg)
        return add_longer(record, run, cfg, build_trained_model(cfg, run.folder), machine, console)

    return run.add_missing(lambda record: "longer" not in record, add)


def _longer(cfg: RunConfig, factor: int) -> RunConfig:
    """Change a configuration to sequences `factor` times as long; only their test part is drawn.

    What grows with the length, such as the number of elements of a word, is in the `grows` of the task's file.
    """
    grow = ("seq_len", "max_length", *read_choice("task", cfg.task.name).get("grows", ()))
    data = {**{key: factor * cfg.task.data[key] for key in grow}, "train": 1, "dev": 1}
    of_data = {f"task.data.{key}": value for key, value in data.items()}
    return cfg.resolved().changed({**of_data, "task.spec.seq_len": data["seq_len"]}).on_one_device()


def _accuracy(cfg: RunConfig, model: nn.Module, machine: Machine) -> float | None:
    """Test a trained model on the data of a configuration; None if its weights are for one length."""
    longer = build_model(cfg)
    weights = model.state_dict()
    if {name: weight.shape for name, weight in weights.items()} != {
        name: weight.shape for name, weight in longer.state_dict().items()
    }:
        return None
    longer.load_state_dict(weights)
    correct = correct_examples(longer, build_data(cfg).test_dataloader(), machine)
    return correct.sum().item() / len(correct)
