"""One measurement of `lra bench gpu`: a cell's steps, its parity with the CPU, or several processes of it."""

from __future__ import annotations

import itertools
import statistics
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from lra.types import UserError, to_device

if TYPE_CHECKING:
    import torch
    from omegaconf import DictConfig

    from lra.bench.gpu_record import GpuCell, GpuRates, MeasuredParity, MeasuredStep
    from lra.bench.gpu_units import UnitKind
    from lra.sweeps.grid import Cell
    from lra.training.module import ClassifierModule

BATCHES = 4  # that stay on the device and are used in turns
HARNESS_STEPS = 30


def measure_rates(cfg: DictConfig) -> GpuRates:
    """Measure the device's rates in the run's precision."""
    from lra.bench.ceiling import measured_rates
    from lra.bench.step_time import product_dtype

    rates = measured_rates(_device(cfg), product_dtype(cfg.trainer.precision))
    return {
        "flops_per_second": rates.flops_per_second,
        "bytes_per_second": rates.bytes_per_second,
        "launch_seconds": rates.launch_seconds,
    }


def measure_unit(kind: UnitKind, kept: GpuCell, cell: Cell, cfg: DictConfig) -> None:
    """Measure one thing of a cell and put it, or why it is left out, into its part of the record."""
    import torch

    from lra.training.memory import is_out_of_memory, release_memory

    trouble = None
    try:
        if kind == "eager":
            kept["eager"] = _measured_step(cell, cfg, compiled=False)
        elif kind == "compiled":
            kept["compiled"] = _measured_step(cell, cfg, compiled=cfg.compiled)
        elif kind == "parity":
            kept["parity"] = _measured_parity(cell, cfg)
        else:
            kept["together"] = _measured_together(cell, cfg)
    except UserError as error:
        trouble = str(error)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error) and kind != "compiled":  # a compiler may lack what eager steps do not need
            raise
        trouble = "out of memory" if is_out_of_memory(error) else str(error).strip().splitlines()[0]
    if trouble is not None:
        kept.setdefault("left_out", {})[kind] = trouble[:200]
    torch.compiler.reset()
    release_memory()


def _device(cfg: DictConfig) -> torch.device:
    import torch

    return torch.device("cuda" if cfg.trainer.accelerator == "gpu" else "cpu")


def _measured_step(cell: Cell, cfg: DictConfig, *, compiled: bool | str) -> MeasuredStep:
    """Time a cell's steps with its batch in the typed number of parts, or with `auto` in as few as fit.

    Raises:
        UserError: when no number of parts fits with which training would go on.
    """
    from lra import build, build_trainer, config
    from lra.training.memory import in_fewest_parts

    run = cell.cfg.copy()
    run.compile = compiled
    if run.trainer.accumulate_grad_batches != config.AUTO:
        return _step_in_parts(run, cfg.steps)

    def _in_parts(parts: int) -> MeasuredStep:
        run.trainer.accumulate_grad_batches = parts
        return _step_in_parts(run, cfg.steps)

    def _same(parts: int) -> bool:
        return build_trainer.is_same_in_parts(run, build.build_model(run), parts)

    return in_fewest_parts(_in_parts, run.recipe.batch_size, same=_same)


def _step_in_parts(run: DictConfig, steps: int) -> MeasuredStep:
    import torch

    from lra import build, build_trainer
    from lra.bench.step_time import evaluation_seconds, make_step, seconds_per_step
    from lra.sweeps.estimate import Estimate
    from lra.training import bench
    from lra.training.counting import Work, count_work
    from lra.training.telemetry import peak_memory_bytes

    machine, device, parts = build_trainer.build_machine(run), _device(run), run.trainer.accumulate_grad_batches
    datamodule, module = build.build_datamodule(run), _module(run).to(device)
    batches = list(itertools.islice(bench.batches_of(datamodule, device), BATCHES * parts))
    step = make_step(module, batches, parts=parts, precision=machine.precision)
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)
    seconds = seconds_per_step(step, device, steps=steps)
    peak = peak_memory_bytes(device)
    evaluation = evaluation_seconds(module, batches[:BATCHES], machine.precision)
    work = Work(0, 0, 0) if run.compile else count_work(step)  # a compiled step hides its operators
    harness_steps = min(HARNESS_STEPS, run.recipe.steps - 1)
    with tempfile.TemporaryDirectory() as folder:
        harness = bench.harness_steps(
            module,
            datamodule,
            machine,
            Path(folder),
            steps=harness_steps,
            of=run.recipe.steps,
            log_every_steps=max(1, harness_steps // 3),
        )
    estimate = Estimate(
        step_seconds=statistics.median(harness),
        eval_seconds=evaluation * parts,
        peak_memory_bytes=peak,
        dev_examples=datamodule.num_examples("dev"),
        test_examples=datamodule.num_examples("test"),
        prepared=True,
        measured_examples=run.recipe.batch_size,
        batch_size=run.recipe.batch_size,
    )
    return {
        "batch_size": run.recipe.batch_size,
        "batch_parts": parts,
        "seconds": seconds,
        "harness_seconds": estimate.step_seconds,
        "eval_seconds": evaluation,
        "peak_bytes": peak,
        "flops": work.flops,
        "bytes": work.bytes,
        "operators": work.operators,
        "hours": estimate.seconds(run) / 3600,
    }


def _module(run: DictConfig) -> ClassifierModule:
    """Build the module with the weights of the run's seed."""
    import pytorch_lightning as pl

    from lra import build
    from lra.training.precision import with_weights_of

    pl.seed_everything(run.seed, workers=True, verbose=False)
    module = build.build_module(run).train()
    return with_weights_of(run.trainer.precision, module)


def _measured_parity(cell: Cell, cfg: DictConfig) -> MeasuredParity:
    """Compare the losses of the same steps on the device and on the CPU."""
    import math

    from lra import build
    from lra.bench.step_parity import UNIT, draws, losses, step_parity
    from lra.training import bench

    run, precision = cell.cfg.copy(), cell.cfg.trainer.precision
    if precision not in UNIT:
        raise UserError(f"{precision} scales its losses, so they are not compared")
    run.compile, run.trainer.accumulate_grad_batches = False, 1
    run.recipe.batch_size, run.model.dropout = cfg.parity_examples, 0.0
    if "attention_dropout" in run.attention:
        run.attention.attention_dropout = 0.0
    cpu, device = _cpu(), _device(run)
    batches = list(itertools.islice(bench.batches_of(build.build_datamodule(run), cpu), cfg.parity_steps))
    if draws(_module(run), batches[0]):
        raise UserError("each step draws random numbers, which a GPU and a CPU draw otherwise")
    exact = losses(_module(run).double(), batches, "64-true")
    on_cpu = losses(_module(run).float(), batches, "32-true")
    moved = [to_device(batch, device) for batch in batches]
    parity = step_parity(exact, on_cpu, losses(_module(run).to(device), moved, precision), precision=precision)
    return {
        "difference": parity.difference if math.isfinite(parity.difference) else None,
        "rounding": parity.rounding,
        "tolerance": parity.tolerance,
        "holds": parity.holds,
    }


def _cpu() -> torch.device:
    import torch

    return torch.device("cpu")


def _measured_together(cell: Cell, cfg: DictConfig) -> dict[str, float]:
    from lra.sweeps.side_by_side import steps_per_second

    return {str(number): steps_per_second(list(cell.words), number) for number in cfg.processes}
