"""`lra bench step`: time a training step; compare its work with this machine's rates, and its losses with a CPU's."""

from __future__ import annotations

import itertools
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch
    from omegaconf import DictConfig
    from rich.console import Console

    from lra.timing.harness_step import Phases
    from lra.training.module import ClassifierModule

TURNS = 2
LOSS_STEPS, LOSS_EXAMPLES = 5, 8  # training steps whose losses are compared, and the examples of each


def measure_step(cfg: DictConfig, console: Console) -> None:
    """Time the step, count its FLOPs and memory traffic, compare its losses, and print all of it."""
    from lra import build
    from lra.build import trainer as build_trainer
    from lra.settings.config import method_name
    from lra.timing import harness_step as bench
    from lra.training.machine import with_weights_of

    machine = build_trainer.build_machine(cfg)
    datamodule = build.build_datamodule(cfg)
    device, precision = machine.device, machine.precision
    bare, harness, dev = [], [], []
    log_every_steps = 1 if device.type == "cpu" else max(1, cfg.steps // 3)  # at a logged point Python waits for a GPU
    for _ in range(TURNS):
        module = with_weights_of(precision, build.build_module(cfg)).to(device).train()
        optimizer = module.make_optimizer()
        batches = bench.batches_of(datamodule, device)
        bench.bare_step(module, optimizer, next(batches), precision)
        bare += [bench.bare_step(module, optimizer, next(batches), precision) for _ in range(cfg.steps)]
        with tempfile.TemporaryDirectory() as folder:
            harness += bench.harness_steps(
                module,
                datamodule,
                machine,
                Path(folder),
                steps=cfg.steps,
                of=cfg.recipe.steps,
                log_every_steps=log_every_steps,
            )
        module = module.to(device)
        dev.append(bench.dev_pass(module, datamodule, machine, batches=cfg.dev_batches))
    print_times(console, bench.medians(bare), statistics.median(harness), dev)

    def step() -> Phases:
        return bench.bare_step(module.train(), optimizer, batch, precision)

    batch = next(batches)
    if cfg.compile:
        console.print("products and traffic: not counted, a compiled step hides its operators; leave compile=true out")
    else:
        print_work(console, step, bench.medians(bare).total, device)
    if (device.type, precision) != ("cpu", "32-true"):
        print_losses(console, cfg, device)
    if cfg.trace or cfg.debug.profiler:
        trace = Path(cfg.trace or f"step-{cfg.task.name}-{method_name(cfg)}.trace.json")
        table, fraction = bench.profile_step(step, trace)
        if cfg.debug.profiler:
            console.print(table)
        products = "" if fraction is None else f"products: {fraction:.0%} of the profiled time; "
        console.print(f"{products}trace of two steps: {trace}")


def print_times(console: Console, bare: Phases, harness: float, dev: list[tuple[float, float]]) -> None:
    """Print the table of times and ratios."""
    from lra.results.tables import TextTable
    from lra.terminal.fit_table import print_text_table

    parts = {name: getattr(bare, name) for name in ("forward", "backward", "optimizer")}
    rows = [[name, f"{seconds * 1e3:.1f}", f"{seconds / bare.total:.0%}"] for name, seconds in parts.items()]
    rows.append(["bare step", f"{bare.total * 1e3:.1f}", "100%"])
    rows.append(["step in the harness", f"{harness * 1e3:.1f}", f"{harness / bare.total:.1%}"])
    passes, forwards = (statistics.median(seconds) for seconds in zip(*dev, strict=True))
    ratio = statistics.median(whole / alone for whole, alone in dev)
    rows.append(["dev pass", f"{passes * 1e3:.1f}", f"{ratio:.1%} of its forward passes ({forwards * 1e3:.1f})"])
    print_text_table(console, TextTable(title="", columns=("part", "milliseconds", "fraction"), rows=rows))


def print_work(console: Console, step: Callable[[], Phases], seconds: float, device: torch.device) -> None:
    """Print a step's FLOPs and memory traffic, and the time that they need at this machine's best rates."""
    from lra.timing.counting import copy_rate, count_work, product_rate

    work, flops, copied = count_work(step), product_rate(device), copy_rate(device)
    console.print(
        f"products  {work.flops / 1e9:,.1f} GFLOP: {work.flops / flops / seconds:.0%} of the step"
        f" at this machine's {flops / 1e9:,.0f} GFLOP/s\n"
        f"traffic   {work.bytes / 1e9:,.1f} GB by {work.operators:,} operators:"
        f" {work.bytes / copied / seconds:.0%} of the step at a large copy's {copied / 1e9:,.1f} GB/s"
        " (over 100%: caches serve it)"
    )


def print_losses(console: Console, cfg: DictConfig, device: torch.device) -> None:
    """Print whether the first steps, uncompiled and without dropout, have the losses of a CPU in float32."""
    import torch

    from lra import build
    from lra.bench.step_parity import TOLERANCE, draws, losses, relative_difference
    from lra.timing.harness_step import batches_of
    from lra.training.machine import set_float32, with_weights_of
    from lra.types import to_device

    cpu, precision = torch.device("cpu"), cfg.trainer.precision
    run = without_dropout(cfg)
    batches = list(itertools.islice(batches_of(build.build_datamodule(run), cpu), LOSS_STEPS))
    if draws(_seeded_module(run), batches[0]):
        console.print("losses    not compared with a CPU's: each step draws random numbers, a GPU others than a CPU")
        return
    set_float32("32-true")
    expected = losses(_seeded_module(run), batches, "32-true")
    set_float32(precision)
    module = with_weights_of(precision, _seeded_module(run)).to(device)
    actual = losses(module, [to_device(batch, device) for batch in batches], precision)
    difference = relative_difference(expected, actual)
    console.print(
        f"losses    {len(batches)} steps of {run.recipe.batch_size} examples without dropout, against a CPU in float32:"
        f" {'PASS' if difference <= TOLERANCE else 'FAIL'}, relative difference {difference:.1e},"
        f" tolerance {TOLERANCE:.0e}"
    )


def without_dropout(cfg: DictConfig) -> DictConfig:
    """Return the settings of a small uncompiled step that draws no dropout, because a GPU draws other masks."""
    run = cfg.copy()
    run.compile, run.recipe.batch_size = False, min(LOSS_EXAMPLES, cfg.recipe.batch_size)
    run.trainer.data_on_device = False
    for group in (run.model, run.attention, run.mixer):
        for key in ("dropout", "attention_dropout"):
            if key in group:
                group[key] = 0.0
    return run


def _seeded_module(cfg: DictConfig) -> ClassifierModule:
    import pytorch_lightning as pl

    from lra import build

    pl.seed_everything(cfg.seed, workers=True, verbose=False)
    return build.build_module(cfg).train()
