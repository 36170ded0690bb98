"""Show the record of `lra bench gpu`, or what a data sheet predicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from rich.console import Console

    from lra.bench.gpu_record import GpuRecord
    from lra.results.tables import TextTable
    from lra.sweeps.grid import Cell


def show_gpu_bench(record: GpuRecord, path: Path, cfg: DictConfig, notes: Sequence[str], console: Console) -> None:
    """Print or write the table of the record, with some more notes."""
    from lra.bench.gpu_tables import step_table
    from lra.results.text import visible

    _show(step_table(record).with_notes(*notes), cfg, console)
    if cfg.format == "terminal" or cfg.out:
        console.print(f"record   {visible(str(path))}")


def show_prediction(cells: Sequence[Cell], cfg: DictConfig, console: Console) -> None:
    """Count the work of each cell's step, and print what it needs at the rates of a data sheet."""
    from lra import build
    from lra.bench.ceiling import DATA_SHEETS
    from lra.bench.gpu_tables import prediction_table
    from lra.bench.gpu_work import gpu_work

    works = []
    for cell in cells:
        run = cell.cfg.copy()
        run.compile = False
        if "attention_dropout" in run.attention:  # a GPU's fused kernel drops without another tensor, a CPU's cannot
            run.attention.attention_dropout = 0.0
        size = run.recipe.batch_size
        work = gpu_work(build.build_module(run), build.build_spec(run), batch_size=size, masked=run.task.mask_zero)
        works.append((f"{run.task.name}/{cell.choice('attention')}{cell.apart}", size, work))
    _show(prediction_table(cfg.predict, works, DATA_SHEETS[cfg.predict]), cfg, console)


def _show(table: TextTable, cfg: DictConfig, console: Console) -> None:
    from lra.cli_support.narrow import print_text_table
    from lra.cli_support.out_file import out_path
    from lra.files import replace_text
    from lra.results.text import visible

    if cfg.out is not None:
        replace_text(out_path(cfg.out), table.to_markdown())
        console.print(f"written: {visible(str(cfg.out))}")
    elif cfg.format == "markdown":
        print(table.to_markdown(), end="")
    else:
        print_text_table(console, table)
        for note in table.notes:
            console.print(note, style="dim", highlight=False)
