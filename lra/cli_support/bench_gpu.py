"""`lra bench gpu`: measure what is missing while there is time, keep the record, and show it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING

from lra.cli_support.bench_gpu_words import read_gpu_words
from lra.cli_support.work_progress import work_progress
from lra.types import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from rich.console import Console

    from lra.bench.gpu_record import GpuCell, GpuRecord, GpuSettings
    from lra.bench.gpu_units import Unit
    from lra.sweeps.grid import Cell

SEEDS = 3  # runs of each cell in the paper's table


def bench_gpu(words: list[str]) -> None:
    """Do what `lra bench gpu WORDS` asks for."""
    from lra import build_trainer
    from lra.bench.gpu_record import begin_gpu_record, cell_of, gpu_record_path
    from lra.bench.gpu_tables import lines_of_hours
    from lra.cli_support.bench_gpu_show import show_gpu_bench, show_prediction
    from lra.cli_support.console import make_console
    from lra.training.machine import prepare_machine

    cfg, typed, cells = read_gpu_words(words)
    console = make_console()
    if cfg.predict is not None:
        show_prediction(cells, cfg, console)
        return
    prepare_machine(build_trainer.build_machine(cells[0].cfg))
    asked, cells = len(cells), _prepared(cells, console)
    settings = _settings(cfg, typed, cells[0].cfg)
    path = gpu_record_path(Path(cfg.paths.runs) / "bench", settings)
    record = begin_gpu_record(path, settings, again=list(map(cell_key, cells)) if cfg.force else ())
    not_reached = measure_while_there_is_time(record, path, cfg, cells, console)
    hours = lines_of_hours([cell_of(record, *cell_key(cell)) for cell in cells], of=asked, seeds=SEEDS)
    show_gpu_bench(record, path, cfg, [*hours, *lines_of_unreached(not_reached, cells, cfg.minutes)], console)


def lines_of_unreached(not_reached: list[Unit], cells: list[Cell], minutes: float) -> list[str]:
    """Word what was not begun in time, a line for each kind of measurement."""
    from lra.bench.gpu_units import TITLES

    lines = []
    for kind in dict.fromkeys(unit.kind for unit in not_reached):
        names = ", ".join(cell_name(cells[unit.place]) for unit in not_reached if unit.kind == kind)
        lines.append(f"not reached in minutes={minutes:g}: {TITLES[kind]} of {names}; the same command goes on")
    return lines


def cell_name(cell: Cell) -> str:
    """Name a cell, such as `listops/nystrom num_landmarks=16`."""
    return "/".join(cell_key(cell))


def cell_key(cell: Cell) -> tuple[str, str]:
    """Return the task and the attention by which the record has a cell, the latter with its swept knobs."""
    return cell.cfg.task.name, cell.choice("attention") + cell.apart


def _prepared(cells: list[Cell], console: Console) -> list[Cell]:
    """Leave the cells out whose data is not there, because preparing it would take the time.

    Raises:
        UserError: when none is left.
    """
    from lra.sweeps.estimate import is_prepared

    missing = list(dict.fromkeys(cell.cfg.task.name for cell in cells if not is_prepared(cell.cfg)))
    size = cells[0].cfg.size.name
    advice = [f"lra prepare task={task}" + ("" if size == "full" else f" size={size}") for task in missing]
    there = [cell for cell in cells if cell.cfg.task.name not in missing]
    if not there:
        raise UserError(f"no data of these tasks is prepared; type: {advice[0]}")
    for task, line in zip(missing, advice, strict=True):
        console.print(f"left out: {task}, whose data is not prepared ({line})")
    return there


def _settings(cfg: DictConfig, typed: list[str], cell: DictConfig) -> GpuSettings:
    from lra import build_trainer
    from lra.results.machine import git_commit, versions

    chooses = ("task=", "attention=", "seed=")
    return {
        "device": build_trainer.device_name(cell),
        "accelerator": cell.trainer.accelerator,
        "precision": cell.trainer.precision,
        "size": cell.size.name,
        "words": [word for word in typed if not word.startswith(chooses)],
        "compiled": cfg.compiled,
        "steps": cfg.steps,
        "parity_steps": cfg.parity_steps,
        "parity_examples": cfg.parity_examples,
        "git_commit": git_commit(),
        "versions": versions(),
    }


def measure_while_there_is_time(
    record: GpuRecord, path: Path, cfg: DictConfig, cells: list[Cell], console: Console
) -> list[Unit]:
    """Measure what the record lacks, the most important first; write it after each measurement.

    Returns:
        What was not begun.

    Raises:
        Stopped: after a signal; the record keeps what has been measured.
    """
    from lra.bench.gpu_record import GPU_RECORD, cell_of
    from lra.bench.gpu_units import TITLES, Budget, units
    from lra.bench.record_file import write_bench
    from lra.cli_support.bench_gpu_measure import measure_rates, measure_unit
    from lra.signals import Stopped, check_stopped

    budget, began = Budget(cfg.minutes * 60), time.monotonic()
    if "rates" not in record:
        record["rates"] = measure_rates(cells[0].cfg)
        write_bench(path, GPU_RECORD, record)
    budget.spent = time.monotonic() - began
    attentions = [cell.choice("attention") for cell in cells]
    todo, skipped = units(attentions, compiled=bool(cfg.compiled), together=bool(cfg.processes)), []
    with work_progress(console, len(todo)) as advance:
        for number, unit in enumerate(todo):
            cell = cells[unit.place]
            kept: GpuCell = cell_of(record, *cell_key(cell))
            if unit.kind in kept or unit.kind in kept.get("left_out", {}):
                continue
            if not budget.allows(unit.kind):
                skipped.append(unit)
                continue
            name = f"{cell_name(cell)}: {TITLES[unit.kind]}"
            advance(name, 0)
            begun = time.monotonic()
            try:
                check_stopped()
                measure_unit(unit.kind, kept, cell, cfg)
            except Stopped as stopped:
                done = f"{number - len(skipped)} of {len(todo)} measurements"
                stopped.kept = f"{done} are in {path}. The same command goes on from there."
                raise
            budget.spend(unit.kind, time.monotonic() - begun)
            write_bench(path, GPU_RECORD, record)
            advance(name, 1)
            if not console.is_terminal and (cfg.format == "terminal" or cfg.out):
                console.print(f"measured: {name}")
    return skipped
