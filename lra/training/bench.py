"""A training step taken apart: bare, in the harness, its phases; and the evaluation beside its forward passes."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from typing import Any

import torch
from pytorch_lightning import LightningDataModule
from pytorch_lightning.callbacks import Callback
from rich.console import Console
from torch.nn.functional import cross_entropy

from lra.run_files import METRICS
from lra.training.counting import synchronized_seconds
from lra.training.curves import CurveLogger, read_curves
from lra.training.module import ClassifierModule
from lra.training.run import Machine, fit, make_trainer
from lra.types import Batch


@dataclass(frozen=True)
class Phases:
    """Seconds of one bare step."""

    forward: float
    backward: float
    optimizer: float

    @property
    def total(self) -> float:
        """Of the whole step."""
        return self.forward + self.backward + self.optimizer


def bare_step(module: ClassifierModule, optimizer: torch.optim.Optimizer, batch: Batch) -> Phases:
    """One step without the harness, timed."""
    times = [synchronized_seconds(module.device)]
    loss = cross_entropy(module.model(batch.tokens, batch.valid), batch.label)
    times.append(synchronized_seconds(module.device))
    loss.backward()
    times.append(synchronized_seconds(module.device))
    optimizer.step()
    optimizer.zero_grad()
    times.append(synchronized_seconds(module.device))
    return Phases(*(end - start for start, end in pairwise(times)))


def harness_steps(
    module: ClassifierModule, datamodule: LightningDataModule, machine: Machine, folder: Path, *, steps: int, of: int
) -> list[float]:
    """Seconds of each step inside `lra train`: data, logging, progress, checkpoints; no dev pass, the first left out.

    `of` is the length of the run whose first `steps` + 1 are trained.
    """
    folder.mkdir(parents=True, exist_ok=True)
    curves = folder / METRICS
    fit(
        module,
        datamodule,
        folder=folder,
        machine=machine,
        steps=of,
        eval_every=of,
        max_steps=min(steps + 1, of),
        log_every_steps=1,
        checkpoint_every_seconds=60,
        loggers=[CurveLogger(curves, resume_step=0)],
        console=Console(quiet=True),
        profiler=None,
    )
    rates = [row["steps_per_second"] for row in read_curves(curves) if "steps_per_second" in row]  # dev, test: none
    return [1 / rate for rate in rates[1:]]


def dev_pass(
    module: ClassifierModule, datamodule: LightningDataModule, machine: Machine, *, batches: int
) -> tuple[float, float]:
    """Seconds of an evaluation of some dev batches, and of their bare forward passes."""
    timer = _Timer()
    trainer = make_trainer(machine, limit_val_batches=batches, callbacks=[timer], logger=False)
    trainer.validate(module, datamodule=datamodule, verbose=False)
    device, bare = module.device, 0.0
    module.eval()
    with torch.inference_mode():
        for batch in islice(datamodule.val_dataloader(), batches):
            batch = to_device(batch, device)
            began = synchronized_seconds(device)
            module.model(batch.tokens, batch.valid)
            bare += synchronized_seconds(device) - began
    module.train()
    return timer.seconds, bare


class _Timer(Callback):
    """Seconds from the first to the last batch of an evaluation."""

    seconds = 0.0

    def on_validation_start(self, trainer: Any, pl_module: Any) -> None:
        """Start."""
        self.seconds = -synchronized_seconds(pl_module.device)

    def on_validation_end(self, trainer: Any, pl_module: Any) -> None:
        """Stop."""
        self.seconds += synchronized_seconds(pl_module.device)


def to_device(batch: Batch, device: torch.device) -> Batch:
    """The batch on a device."""
    valid = None if batch.valid is None else batch.valid.to(device)
    return Batch(batch.tokens.to(device), valid, batch.label.to(device))


def medians(phases: list[Phases]) -> Phases:
    """Median of each phase."""
    return Phases(*(statistics.median(getattr(p, name) for p in phases) for name in Phases.__dataclass_fields__))


def batches_of(datamodule: Any, device: torch.device) -> Iterator[Batch]:
    """Training batches in the run's order, without end."""
    loader, k = datamodule.train_dataloader(), 0
    while True:
        yield to_device(loader.batch(k), device)
        k += 1


def profile_step(step: Callable[[], Any], trace: Path, *, rows: int = 20) -> tuple[str, float]:
    """Profile two runs of `step`: the table of its operators, and the fraction of its time in products, in [0, 1].

    Writes a Chrome trace (chrome://tracing, ui.perfetto.dev) to `trace`.
    """
    from torch.profiler import ProfilerActivity, profile

    cuda = [ProfilerActivity.CUDA] if torch.cuda.is_available() else []
    with profile(activities=[ProfilerActivity.CPU, *cuda]) as profiler:
        step()
        step()
    profiler.export_chrome_trace(str(trace))
    events = profiler.key_averages()
    total = sum(event.self_cpu_time_total for event in events)
    products = sum(event.self_cpu_time_total for event in events if event.key in PRODUCTS)
    table = events.table(sort_by="self_cpu_time_total", row_limit=rows, max_name_column_width=40)
    return table, products / total


PRODUCTS = {f"aten::{name}" for name in ("mm", "addmm", "addmm_", "bmm", "baddbmm", "baddbmm_", "addmv", "mv")} | {
    "aten::_scaled_dot_product_flash_attention_for_cpu",
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
}
