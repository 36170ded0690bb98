"""`lra bench step`: time a training step; compare its work with this machine's rates, and its losses with a CPU's."""

import itertools
import statistics
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pytorch_lightning as pl
import torch
from rich.console import Console

from lra.from_config import build_datamodule, build_module, machine_and_loggers
from lra.runs.versions import git_commit, versions
from lra.settings.command_options import BenchStep
from lra.settings.run_config import RunConfig
from lra.settings.which_run import config_hash
from lra.terminal.console import work_progress
from lra.terminal.fit_table import print_text_table
from lra.terminal.text_table import TextTable
from lra.training.cost import harness_step
from lra.training.cost.counting import Work, copy_rate, count_work, product_rate, synchronized_seconds
from lra.training.machine import set_float32, to_weight_dtype
from lra.training.module import ClassifierModule
from lra.types import Batch, to_device

TURNS = 2
LOSS_STEPS, LOSS_EXAMPLES = 5, 8  # training steps whose losses are compared, and the examples of each
TOLERANCE = 1e-5  # of the relative difference of a loss: float32 rounds by 1e-7, and bf16 differs by 1e-4 to 1e-3


@dataclass(frozen=True)
class WorkAtRates:
    """A step's work, the seconds of a step, and this machine's best rates of FLOPs and of copied bytes in a second."""

    work: Work
    seconds: float
    flops_rate: float
    bytes_rate: float

    def show(self, console: Console) -> None:
        """Print FLOPs and memory traffic, and the part of the step that they need at the best rates."""
        work = self.work
        console.print(
            f"products  {work.flops / 1e9:,.1f} GFLOP: {work.flops / self.flops_rate / self.seconds:.0%} of the step"
            f" at this machine's {self.flops_rate / 1e9:,.0f} GFLOP/s\n"
            f"traffic   {work.bytes / 1e9:,.1f} GB by {work.operators:,} operators:"
            f" {work.bytes / self.bytes_rate / self.seconds:.0%} of the step at a large copy's"
            f" {self.bytes_rate / 1e9:,.1f} GB/s (over 100%: caches serve it)"
        )


@dataclass(frozen=True)
class LossComparison:
    """Losses of the first steps beside those of a CPU in float32.

    `difference` is the largest relative one; None where a step draws random numbers, of which devices have others.
    """

    steps: int
    examples: int
    difference: float | None

    @property
    def is_close(self) -> bool:
        """Whether the losses are compared, and agree as far as float32 rounds."""
        return self.difference is not None and self.difference <= TOLERANCE

    def show(self, console: Console) -> None:
        """Print the verdict with the difference."""
        if self.difference is None:
            console.print(
                "losses    not compared with a CPU's: each step draws random numbers, a GPU others than a CPU"
            )
            return
        console.print(
            f"losses    {self.steps} steps of {self.examples} examples without dropout, against a CPU in float32:"
            f" {'PASS' if self.is_close else 'FAIL'}, relative difference {self.difference:.1e},"
            f" tolerance {TOLERANCE:.0e}"
        )


@dataclass(frozen=True)
class StepProfile:
    """Two profiled steps: the table of operators, the fraction of matrix products (None on a GPU), and the trace."""

    table: str
    products: float | None
    trace: Path


@dataclass(frozen=True, kw_only=True)
class StepCost:
    """A training step: its times, its work and its losses.

    Attributes:
        bare: seconds of the phases without the harness; medians.
        recorded: seconds of a step whose passes are a CUDA graph; None: the run launches kernel by kernel.
        harness: seconds of a step inside `lra train`.
        dev: seconds of dev passes, and of their forward passes alone.
        work: what a step computes and moves; None: compiled, which hides its operators.
        losses: those of the first steps beside a CPU's; None: this is a CPU in float32.
        profile: what `debug=profile` and `trace=` ask for.
        with_table: whether its table is asked for, too.
    """

    bare: harness_step.Phases
    recorded: float | None
    harness: float
    dev: list[tuple[float, float]]
    work: WorkAtRates | None
    losses: LossComparison | None
    profile: StepProfile | None
    with_table: bool

    def as_record(self, cfg: RunConfig) -> dict[str, Any]:
        """All numbers, with the settings, the device, the commit and the versions; times are medians in seconds."""
        dev, dev_forward = (statistics.median(seconds) for seconds in zip(*self.dev, strict=True))
        return {
            "what": "bench step",
            **cfg.identity,
            "config_hash": config_hash(cfg),
            "batch_size": cfg.recipe.batch_size,
            "precision": cfg.trainer.precision,
            "compile": cfg.compile,
            "seconds": {
                **self.bare._asdict(),
                "bare": self.bare.total,
                "cuda_graph": self.recorded,
                "harness": self.harness,
                "dev_pass": dev,
                "dev_forward": dev_forward,
            },
            "work": None if self.work is None else asdict(self.work),
            "losses": None if self.losses is None else asdict(self.losses),
            "device": machine_and_loggers.device_name(cfg),
            "git_commit": git_commit(),
            "versions": versions(),
        }

    def show(self, console: Console) -> None:
        """Print the table of times, then the rest."""
        print_times(console, self.bare, self.recorded, self.harness, self.dev)
        if self.work is None:
            console.print(
                "products and traffic: not counted, a compiled step hides its operators; leave compile=true out"
            )
        else:
            self.work.show(console)
        if self.losses is not None:
            self.losses.show(console)
        if self.profile is not None:
            if self.with_table:
                console.print(self.profile.table)
            fraction = self.profile.products
            products = "" if fraction is None else f"products: {fraction:.0%} of the profiled time; "
            console.print(f"{products}trace of two steps: {self.profile.trace}")


def measure_step(cfg: BenchStep, console: Console) -> StepCost:
    """Time the step, count its FLOPs and memory traffic, and compare its losses; a bar on the console shows how far."""
    machine = machine_and_loggers.build_machine(cfg)
    datamodule = build_datamodule(cfg)
    device, precision = machine.device, machine.precision
    bare, harness, dev = [], [], []
    log_every_steps = 1 if device.type == "cpu" else max(1, cfg.steps // 3)  # at a logged point Python waits for a GPU
    with work_progress(console, TURNS + 1) as advance:
        for turn in range(TURNS):
            advance(f"steps, turn {turn + 1} of {TURNS}", 0)
            module = to_weight_dtype(precision, build_module(cfg)).to(device).train()
            optimizer = module.make_optimizer()
            batches = harness_step.batches_of(datamodule, device)
            harness_step.bare_step(module, optimizer, next(batches), precision)
            bare += [harness_step.bare_step(module, optimizer, next(batches), precision) for _ in range(cfg.steps)]
            harness += harness_step.harness_steps(
                module,
                datamodule,
                machine,
                steps=cfg.steps,
                run_steps=cfg.recipe.steps,
                log_every_steps=log_every_steps,
            )
            module = module.to(device)
            dev.append(harness_step.dev_pass(module, datamodule, machine, batches=cfg.dev_batches))
            advance("this machine's rates", 1)
        recorded = recorded_seconds(module, list(itertools.islice(batches, cfg.steps)), precision)

        def step() -> harness_step.Phases:
            return harness_step.bare_step(module.train(), optimizer, batch, precision)

        batch, medians = next(batches), harness_step.medians(bare)
        work = None
        if not cfg.compile:
            work = WorkAtRates(count_work(step), medians.total, product_rate(device), copy_rate(device))
        on_plain_cpu = (device.type, precision) == ("cpu", "32-true")
        return StepCost(
            bare=medians,
            recorded=recorded,
            harness=statistics.median(harness),
            dev=dev,
            work=work,
            losses=None if on_plain_cpu else compare_losses(cfg, device),
            profile=profile_of(cfg, step) if cfg.trace or cfg.debug.profiler else None,
            with_table=bool(cfg.debug.profiler),
        )


def profile_of(cfg: BenchStep, step: Callable[[], harness_step.Phases]) -> StepProfile:
    """Profile two steps, and write their trace."""
    trace = Path(cfg.trace or f"step-{cfg.task.name}-{cfg.method_name}.trace.json")
    table, fraction = harness_step.profile_step(step, trace)
    return StepProfile(table, fraction, trace)


def recorded_seconds(module: ClassifierModule, batches: Sequence[Batch], precision: str) -> float | None:
    """Time a step whose passes are a CUDA graph; None where the run launches kernel by kernel."""
    if not module.records_step:
        return None
    step = harness_step.make_step(module.train(), batches, parts=1, precision=precision)
    step()
    began = synchronized_seconds(module.device)
    for _ in batches:
        step()
    return (synchronized_seconds(module.device) - began) / len(batches)


def print_times(
    console: Console,
    bare: harness_step.Phases,
    recorded: float | None,
    harness: float,
    dev: list[tuple[float, float]],
) -> None:
    """Print the table of times and ratios."""
    parts = {name: getattr(bare, name) for name in ("forward", "backward", "optimizer")}
    rows = [[name, f"{seconds * 1e3:.1f}", f"{seconds / bare.total:.0%}"] for name, seconds in parts.items()]
    rows.append(["bare step", f"{bare.total * 1e3:.1f}", "100%"])
    if recorded is not None:
        rows.append(["bare step, as a CUDA graph", f"{recorded * 1e3:.1f}", f"{recorded / bare.total:.0%}"])
    rows.append(["step in the harness", f"{harness * 1e3:.1f}", f"{harness / bare.total:.1%}"])
    passes, forwards = (statistics.median(seconds) for seconds in zip(*dev, strict=True))
    ratio = statistics.median(whole / alone for whole, alone in dev)
    rows.append(["dev pass", f"{passes * 1e3:.1f}", f"{ratio:.1%} of its forward passes ({forwards * 1e3:.1f})"])
    print_text_table(console, TextTable(title="", columns=("part", "milliseconds", "fraction"), rows=rows))


def compare_losses(cfg: RunConfig, device: torch.device) -> LossComparison:
    """Compare the losses of the first steps, uncompiled and without dropout, with those of a CPU in float32."""
    cpu, precision = torch.device("cpu"), cfg.trainer.precision
    run = without_dropout(cfg)
    batches = list(itertools.islice(harness_step.batches_of(build_datamodule(run), cpu), LOSS_STEPS))
    difference = None
    if not draws(_seeded_module(run), batches[0]):
        set_float32("32-true")
        expected = losses(_seeded_module(run), batches, "32-true")
        set_float32(precision)
        module = to_weight_dtype(precision, _seeded_module(run)).to(device)
        actual = losses(module, [to_device(batch, device) for batch in batches], precision)
        difference = relative_difference(expected, actual)
    return LossComparison(len(batches), run.recipe.batch_size, difference)


def without_dropout(cfg: RunConfig) -> RunConfig:
    """Return the configuration of a small uncompiled step that draws no dropout, because a GPU draws other masks."""
    groups = {"model": cfg.model, "attention": cfg.attention, "mixer": cfg.mixer}
    dropout = {
        f"{name}.{key}": 0.0
        for name, group in groups.items()
        for key in ("dropout", "attention_dropout")
        if key in group
    }
    batch = min(LOSS_EXAMPLES, cfg.recipe.batch_size)
    return cfg.changed({"compile": False, "recipe.batch_size": batch, "trainer.data_on_device": False, **dropout})


def _seeded_module(cfg: RunConfig) -> ClassifierModule:
    pl.seed_everything(cfg.seed, workers=True, verbose=False)
    return build_module(cfg).train()


def losses(module: ClassifierModule, batches: Sequence[Batch], precision: str) -> torch.Tensor:
    """Train one step on each batch; return the loss of each, in float64 on the CPU.

    Module, in training mode, and batches are on the same device; `precision` is that of Lightning's Trainer.
    """
    step = harness_step.make_step(module, batches, parts=1, precision=precision)
    return torch.stack([step().double() for _ in batches]).cpu()


def relative_difference(expected: torch.Tensor, actual: torch.Tensor) -> float:
    """Return the largest difference of two losses of the same step, divided by the expected loss; NaN if one is NaN."""
    return float(((actual - expected).abs() / expected.abs()).max())


def draws(module: ClassifierModule, batch: Batch) -> bool:
    """Tell whether training draws random numbers: the loss then depends on them, and devices cannot be compared."""
    with torch.no_grad(), torch.random.fork_rng():
        outputs = []
        for seed in (0, 1):
            torch.manual_seed(seed)
            outputs.append(module(batch))
    return not torch.equal(*outputs)
