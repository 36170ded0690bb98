"""Show a bench's record: tables on a terminal, Markdown or CSV in a file, and the figure beside the record."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from rich.console import Console

    from lra.bench.record import BenchRecord
    from lra.results.tables import TextTable


def show_bench(record: BenchRecord, path: Path, cfg: DictConfig, console: Console) -> None:
    """Print the lengths that were asked for, or write them to `out=`; draw the figure of what was measured now."""
    from lra.base.files import replace_text
    from lra.base.text import visible
    from lra.bench.plot import plot_bench
    from lra.terminal.fit_table import print_text_table
    from lra.terminal.output import out_path

    asked: BenchRecord = {**record, "cells": [cell for cell in record["cells"] if cell["length"] in cfg.n]}
    form = cfg.format
    if cfg.out is not None and form == "terminal":
        form = "csv" if Path(cfg.out).suffix == ".csv" else "markdown"
    if form == "terminal":
        for table in _tables(asked):
            print_text_table(console, table)
            console.print()
    elif cfg.out is None:
        print(_text(asked, form), end="")
        return
    else:
        replace_text(out_path(cfg.out), _text(asked, form))
        console.print(f"written: {visible(str(cfg.out))}")
    console.print(f"record   {visible(str(path))}")
    if cfg.show is None:
        figure = plot_bench(asked, path.with_suffix(".png"))
        console.print(f"figure   {visible(str(figure))} (.pdf and .svg beside it)")


def _tables(record: BenchRecord) -> list[TextTable]:
    from lra.bench.record import lengths_of
    from lra.bench.tables import length_table, parity_table, summary_table

    parity = [parity_table(record)] if record["parity"] else []
    return [*parity, *(length_table(record, length) for length in lengths_of(record)), summary_table(record)]


def _text(record: BenchRecord, form: str) -> str:
    from lra.bench.paper_layout import bench_markdown
    from lra.bench.tables import csv_table

    return csv_table(record).to_csv() if form == "csv" else bench_markdown(record)
