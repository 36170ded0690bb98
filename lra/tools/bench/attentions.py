"""`lra bench attention`: measure what is missing, keep the record, and show tables and a figure."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lra.base.files import replace_text
from lra.base.overrides import Overrides
from lra.base.signals import Stopped
from lra.base.text import visible
from lra.runs.versions import git_commit, versions
from lra.terminal.console import make_console, out_path, work_progress
from lra.terminal.fit_table import print_figure, print_text_table
from lra.tools.bench.bench_overrides import methods_to_measure, parse_overrides
from lra.tools.bench.record import (
    BenchRecord,
    BenchSettings,
    begin_record,
    lengths_of,
    read_bench,
    record_path,
    write_bench,
)
from lra.tools.bench.tables import bench_markdown, bench_tables, csv_table
from lra.types import UserError

if TYPE_CHECKING:  # slow imports, which `show=` does not need
    from rich.console import Console

    from lra.settings.command_options import BenchAttention
    from lra.terminal.figure_file import Drawn
    from lra.tools.bench.methods import BenchMethod, BenchShape

os.environ.setdefault("KINETO_LOG_LEVEL", "6")  # else torch's profiler writes two lines to stderr; read at its import


@dataclass(frozen=True, kw_only=True)
class ShownBench:
    """A record of attentions and mixers alone, as far as it was asked for.

    Attributes:
        asked: the record, with the cells of the lengths `n=`.
        path: its file.
        format: terminal, markdown or csv.
        out: the file that has the tables, as typed; None: they are printed.
        draws: whether a figure was asked for, or belongs to what was measured.
        figure: the figure; None: none was asked for, or there is a single length.
    """

    asked: BenchRecord
    path: Path
    format: str
    out: Path | None
    draws: bool
    figure: Drawn | None

    def show(self, console: Console) -> None:
        """Print the tables, or where they are written, and name record and figure."""
        alone = self.format != "terminal" and self.out is None  # on stdout, for a file
        if alone:
            print(_in_format(self.asked, self.format), end="")
            console = make_console(stderr=True)
        elif self.out is not None:
            console.print(f"written: {visible(str(self.out))}")
        else:
            for table in bench_tables(self.asked):
                print_text_table(console, table)
                console.print()
        if not alone:
            console.print(f"record   {visible(str(self.path))}")
        if self.figure is not None:
            print_figure(console, self.figure)
        elif self.draws:
            console.print("no figure: it needs two lengths or more")


def bench_attention(overrides: list[str]) -> ShownBench:
    """Do what `lra bench attention OVERRIDES` asks for.

    Raises:
        UserError: for the first wrong override.
    """
    cfg, of_methods = parse_overrides(overrides)
    if cfg.show is None:
        return measure(cfg, of_methods)
    path = Path(cfg.show).expanduser()
    record = read_bench(path) if path.is_file() else None
    if record is None or not {cell["length"] for cell in record["cells"]} & set(cfg.n):
        fault = f"show={cfg.show} is no file" if record is None else f"{cfg.show} has none of the lengths n="
        raise UserError(f"{fault}; type: lra bench attention show=runs/published/bench_attention.json n=2048")
    return shown_bench(record, path, cfg)


def measure(cfg: BenchAttention, of_methods: Overrides) -> ShownBench:
    """Measure the methods that these overrides choose at the lengths that their record lacks."""
    import torch

    from lra.tools.bench.methods import BenchShape
    from lra.tools.bench.peers import PEERS, check_installed, parity_of
    from lra.training.machine import Machine, prepare_machine

    packed = cfg.device == "cpu" if cfg.packed == "auto" else str(cfg.packed).lower() == "true"
    peers = PEERS if cfg.against == "pypi" else ()
    check_installed(peers)
    methods = methods_to_measure(of_methods, packed=packed, peers=peers) + [peer.method() for peer in peers]
    on_gpu = cfg.device == "cuda"
    prepare_machine(Machine(accelerator="gpu" if on_gpu else "cpu", threads=cfg.threads))
    shape = BenchShape(
        batch=cfg.batch, heads=cfg.heads, head_dim=cfg.head_dim, length=2, dtype=cfg.dtype, device=cfg.device
    )
    settings: BenchSettings = {
        "batch": cfg.batch,
        "heads": cfg.heads,
        "head_dim": cfg.head_dim,
        "dtype": cfg.dtype,
        "device": torch.cuda.get_device_name() if on_gpu else f"cpu ({torch.get_num_threads()} threads)",
        "packed": packed,
        "backward": cfg.backward,
        "repeats": cfg.repeats,
        "cell_seconds": float(cfg.cell_seconds),
        "methods": [{"name": each.name, "kind": each.kind, "settings": each.settings} for each in methods],
        "git_commit": git_commit(),
        "versions": versions(),
    }
    path = record_path(cfg.paths.runs / "bench", settings)
    record, console = begin_record(path, settings, again=cfg.n if cfg.force else ()), make_console()
    if peers and (cfg.force or not record["parity"]):
        record["parity"] = [parity_of(peer, shape) for peer in peers]
        write_bench(path, record)
    measure_missing(record, path, cfg, methods, shape, console)
    return shown_bench(record, path, cfg)


def measure_missing(
    record: BenchRecord,
    path: Path,
    cfg: BenchAttention,
    methods: list[BenchMethod],
    shape: BenchShape,
    console: Console,
) -> None:
    """Measure the lengths that the record lacks, in growing order, and write it after each round of turns.

    Raises:
        Stopped: after a signal; the record keeps what has been measured.
    """
    from lra.tools.bench.measure import Bench

    missing = sorted(set(cfg.n) - set(record["whole"]))
    with work_progress(console, sum(missing) * len(methods) * cfg.repeats) as advance:
        bench = Bench(
            methods,
            shape,
            backward=cfg.backward,
            repeats=cfg.repeats,
            cell_seconds=cfg.cell_seconds,
            advance=lambda method, length: advance(f"L = {length:,}  {method}", length),
        )
        bench.remember(record["cells"])
        for length in missing:
            of_others = [cell for cell in record["cells"] if cell["length"] != length]
            try:
                for cells in bench.measure_length(length):
                    record["cells"] = of_others + cells
                    write_bench(path, record)
            except Stopped as stopped:
                stopped.kept = (
                    f"{len(record['whole'])} of {len(cfg.n)} lengths are finished, in {path}. The same command goes on"
                    " from there."
                )
                raise
            record["whole"] = sorted({*record["whole"], length})
            write_bench(path, record)
            if not console.is_terminal and (cfg.format == "terminal" or cfg.out):  # else stdout is the table alone
                console.print(f"measured: L = {length:,}")


def shown_bench(record: BenchRecord, path: Path, cfg: BenchAttention) -> ShownBench:
    """Choose the lengths that were asked for; write the tables to `out=`, and draw the figure of what was measured now.

    With `figure=` that of a record that is only shown is drawn, too.
    """
    asked: BenchRecord = {**record, "cells": [cell for cell in record["cells"] if cell["length"] in cfg.n]}
    text_format, out = cfg.format, None
    if cfg.out is not None:
        out = Path(cfg.out)
        if text_format == "terminal":
            text_format = "csv" if out.suffix == ".csv" else "markdown"
        replace_text(out_path(cfg.out), _in_format(asked, text_format))
    piped = text_format != "terminal" and out is None
    draws = cfg.figure is not None or (cfg.show is None and not piped)
    figure = _draw(asked, path, cfg) if draws else None
    return ShownBench(asked=asked, path=path, format=text_format, out=out, draws=draws, figure=figure)


def _in_format(asked: BenchRecord, text_format: str) -> str:
    return csv_table(asked).to_csv() if text_format == "csv" else bench_markdown(asked)


def _draw(asked: BenchRecord, path: Path, cfg: BenchAttention) -> Drawn | None:
    """Draw the figure where `figure=` says, or beside the record; of a single length there is none."""
    if len(lengths_of(asked)) < 2:
        return None
    from lra.tools.bench.plot import plot_bench

    file = path.with_suffix(".png") if cfg.figure is None else out_path(cfg.figure)
    return plot_bench(asked, file, columns=cfg.figure_columns)
