"""Time a training step, bare and in the harness, and a dev pass beside its forward passes alone."""

import statistics
from collections.abc import Callable, Iterator, Sequence
from itertools import count, cycle, islice, pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import torch
from pytorch_lightning import LightningDataModule
from pytorch_lightning.callbacks import LambdaCallback

from lra.data.datamodule import StoreDataModule
from lra.training.cost.counting import synchronized_seconds
from lra.training.curves import read_curves
from lra.training.loggers import CurveLogger
from lra.training.loop_settings import LoopSettings, TrainerAdditions
from lra.training.machine import Machine, autocast_context
from lra.training.module import ClassifierModule
from lra.training.run import fit
from lra.training.trainer import make_trainer
from lra.types import Batch, to_device


class Phases(NamedTuple):
    """Seconds of the phases of one bare step."""

    forward: float
    backward: float
    optimizer: float

    @property
    def total(self) -> float:
        """Seconds of the whole step."""
        return sum(self)


def bare_step(
    module: ClassifierModule, optimizer: torch.optim.Optimizer, batch: Batch, precision: str = "32-true"
) -> Phases:
    """Run and time one training step without the harness: forward pass, backward pass, optimizer.

    `precision` is that of Lightning's Trainer; for `64-true` the module has to be in float64.
    """
    times = [synchronized_seconds(module.device)]
    with autocast_context(precision, module.device):
        loss = module.loss(module.model(batch.tokens, batch.valid), batch.label)
    times.append(synchronized_seconds(module.device))
    loss.backward()
    times.append(synchronized_seconds(module.device))
    optimizer.step()
    optimizer.zero_grad()
    times.append(synchronized_seconds(module.device))
    return Phases(*(end - start for start, end in pairwise(times)))


def make_step(
    module: ClassifierModule, batches: Sequence[Batch], *, parts: int, precision: str
) -> Callable[[], torch.Tensor]:
    """Make a function that trains one step in `parts` parts and returns its loss, which stays on the device.

    A module that records its step does so here too.

    The batches, on the module's device, are parts of batches, used again and again; `precision` is that of Lightning's
    Trainer.
    """
    optimizer, endless = module.make_optimizer(), cycle(batches)

    def recorded() -> torch.Tensor:
        with autocast_context(precision, module.device):
            loss, _ = module.passes(next(endless))
        optimizer.step()
        return loss.clone()

    def step() -> torch.Tensor:
        total = torch.zeros((), device=module.device)
        for batch in islice(endless, parts):
            with autocast_context(precision, module.device):
                loss = module.loss(module(batch), batch.label)
            (loss / parts).backward()
            total = total + loss.detach() / parts
        optimizer.step()
        optimizer.zero_grad()
        return total

    return recorded if module.records_step else step


def harness_steps(
    module: ClassifierModule,
    datamodule: LightningDataModule,
    machine: Machine,
    *,
    steps: int,
    run_steps: int,
    log_every_steps: int = 1,
) -> list[float]:
    """Time steps inside `lra train`, with data loading, logging, progress and checkpoints, without dev passes.

    It times `steps` steps, after a first one that is not counted, of a run of `run_steps`, in a temporary folder.

    Returns:
        Seconds of a step between each two logged points, at which the harness waits for the device.
    """
    loop = LoopSettings(
        steps=run_steps,
        eval_every=run_steps,
        max_steps=min(steps + 1, run_steps),
        log_every_steps=log_every_steps,
        checkpoint_every_seconds=60,
    )
    with TemporaryDirectory() as folder:
        curves = Path(folder) / "curves.csv"
        added = TrainerAdditions(loggers=[CurveLogger(curves, resume_step=0)])
        fit(module, datamodule, Path(folder), machine, loop, added)
        rows = read_curves(curves)
    rates = [row["steps_per_second"] for row in rows if "steps_per_second" in row]  # not in dev rows
    return [1 / rate for rate in rates[1:]]


def dev_pass(
    module: ClassifierModule, datamodule: LightningDataModule, machine: Machine, *, batches: int
) -> tuple[float, float]:
    """Time the evaluation of some dev batches; return its seconds, and those of the same forward passes alone."""
    marks: list[float] = []

    def mark(*_: object) -> None:
        marks.append(synchronized_seconds(module.device))

    timer = LambdaCallback(on_validation_start=mark, on_validation_end=mark)
    trainer = make_trainer(machine, limit_val_batches=batches, callbacks=[timer], logger=False)
    trainer.validate(module, datamodule=datamodule, verbose=False)
    device, bare = module.device, 0.0
    module.eval()
    with torch.inference_mode(), autocast_context(machine.precision, device):
        for batch in islice(datamodule.val_dataloader(), batches):
            batch = to_device(batch, device)
            began = synchronized_seconds(device)
            module.model(batch.tokens, batch.valid)
            bare += synchronized_seconds(device) - began
    module.train()
    return marks[-1] - marks[0], bare


def medians(phases: list[Phases]) -> Phases:
    """Compute the median of each phase."""
    return Phases(*map(statistics.median, zip(*phases, strict=True)))


def batches_of(datamodule: StoreDataModule, device: torch.device) -> Iterator[Batch]:
    """Iterate over training batches in the run's order, endlessly."""
    loader = datamodule.train_dataloader()
    return (to_device(loader.batch(k), device) for k in count())


def profile_step(step: Callable[[], object], trace: Path) -> tuple[str, float | None]:
    """Profile two runs of `step`, and write a Chrome trace of them (for chrome://tracing or ui.perfetto.dev).

    Returns:
        A table of the operators in 20 rows, and the fraction of the time in matrix products, in [0, 1]; on a GPU
            None, where the host's times are those of launches.
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
    order = "self_device_time_total" if cuda else "self_cpu_time_total"
    table = events.table(sort_by=order, row_limit=20, max_name_column_width=40)
    return table, None if cuda else products / total


PRODUCTS = {f"aten::{name}" for name in ("mm", "addmm", "addmm_", "bmm", "baddbmm", "baddbmm_", "addmv", "mv")} | {
    "aten::_scaled_dot_product_flash_attention_for_cpu",
    "aten::_scaled_dot_product_flash_attention_for_cpu_backward",
}
