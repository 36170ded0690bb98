"""lra table: reproduce the paper's table: plan it, run the missing cells, show them with the published numbers.

  lra table plan                             75 cells: which are finished; measured s/step, hours, memory of the others
  lra table run                              runs the missing cells; after Ctrl-C or a kill, the same command resumes
  lra table run task=listops,text seed=0     some of its cells
  lra table run attention=all size=short     every attention and every mixer, not the paper's five alone; also task=all
  lra table run workers=2                    two cells at a time, which share the cores of this machine
  lra table run trainer=gpu workers=8        eight cells at a time, each on a GPU of its own
  lra table run workers=8 hydra/launcher=submitit_slurm hydra.launcher.timeout_min=1440
  lra table show                             mean ± SD (seeds), the paper's value, the difference; works any time
  lra table show notes=all                   with every note; without it at most three below the table
  lra table show reference=skyformer format=latex out=table.tex
  lra table run recipe=tuned task=listops    with the best configurations that lra tune has found (lra tune --help)
  lra table run sweep=probes workers=2       every method on six small generated tasks, at its best rate; an evening
  lra table run sweep=probes attention=mine  one method on them; with workers=2 about 15 minutes
  lra table plan protocol=s4                 S4's table: S4D and attentions in its encoder (conf/sweep/s4_table.yaml)
  lra table show run_group=published         from published records; also the path of a folder or file of records
  lra table show figure=table.pdf            a heat map of methods and tasks; also .png or .svg, figure_columns=1
  lra table run size=tiny recipe.steps=4     a trial of all cells, in minutes

  sweep=paper_table    the cells: 5 tasks × 5 attentions × 3 seeds (conf/sweep/paper_table.yaml)
  reference=paper|xformers|skyformer|google|s4
  format=terminal|markdown|csv|latex|wandb

Several `lra table run` on one folder of runs, on one machine or many, share the cells. No cell is run twice, and the
cell of a process that was killed is free again. When a cell fails, its error is noted and the other cells go on; the
next `lra table run` tries it again.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from lra.base.probes import probe_named
from lra.runs.published_numbers import in_benchmark_order
from lra.runs.schema import Record
from lra.tables.accuracy_table import accuracy_table
from lra.tables.cells import make_rows
from lra.tables.grid.other_records import left_out
from lra.tables.grid.output import (
    Draw,
    Tables,
    TableWithFigures,
    draw,
    format_of,
    left_out_notes,
    no_record_notes,
    plan_run_or_show,
    what_is_there,
)
from lra.tables.grid.own_search import search_first
from lra.tables.grid.run_set import RunSet, read_run_set
from lra.tables.notes_on_runs import protocol_steps_and_size
from lra.terminal.console import make_console
from lra.terminal.figure_file import Drawn

if TYPE_CHECKING:  # slow: it imports torch
    from lra.tables.grid.plan import Plan

SUBCOMMANDS = ("plan", "run", "show")


def main(arguments: Sequence[str]) -> Tables | Plan:
    """Plan, run or show."""
    if (search := search_first("table", arguments, make_console())) is not None:
        return search
    return plan_run_or_show(read_run_set("table", arguments), make_tables)


def make_tables(run_set: RunSet) -> Tables:
    """Make the table of the group's records; draw a heat map of probes, or of any tasks where `figure=` says."""
    records = run_set.records()
    there = what_is_there(run_set)
    if there and format_of(run_set) == "terminal":
        return Tables(run_set=run_set, there=there)
    table = accuracy_table(records, reference=run_set.options.reference, listed_tasks=run_set.tasks())
    probes = set(filter(probe_named, {record.task for record in records}))
    of_probes = [record for record in records if record.task in probes]
    drawings: dict[str, Draw] = {}
    if of_probes or (records and run_set.options.figure is not None):
        drawings["heat_map"] = partial(_heat_map, of_probes or records, run_set.options.figure_columns)
    figures, undrawn = draw(run_set, "probes" if of_probes else "tasks", drawings)
    others = left_out(run_set)
    table = table.with_warnings(*no_record_notes(run_set), *left_out_notes(run_set, others), *undrawn)
    made = TableWithFigures(name="table", table=table, figures=figures)
    return Tables(run_set=run_set, tables=[made], there=there, left_out=others)


def _heat_map(records: list[Record], columns: int, path: Path) -> Drawn:
    from lra.tables.figures.heat_map import plot_heat_map  # slow: it imports matplotlib

    chance = {record.task: record.majority_rate for record in records}
    tasks = in_benchmark_order(chance)
    rows = make_rows(records)
    title = f"Methods and tasks, {protocol_steps_and_size(records)}"
    return plot_heat_map(rows, path, tasks=tasks, chance=chance, title=title, columns=columns)
