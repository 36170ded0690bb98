"""lra sweep: accuracy against a number, of landmarks, of positions in a window, or of pairs to recall.

  lra sweep landmarks                                    16 to 512 landmarks and exact attention, 3 seeds, ListOps
  lra sweep landmarks attention.num_landmarks=32,64,128 task=text,image seed=0,1
  lra sweep landmarks plan                               hours and memory that the runs would need
  lra sweep landmarks show format=csv out=landmarks.csv  from the runs that are finished
  lra sweep landmarks size=short                         minutes a cell; not the benchmark
  lra sweep window task=listops,image size=short         local attention of width 4, 16, 64 …: how long is the range?
  lra sweep window attention.block_length=2,8,32         other widths
  lra sweep capacity                                     six attentions and 4 to 32 pairs of a key and a value to recall
  lra sweep capacity attention=full,mine task.sizes.full.pairs=8,16 workers=2

Runs the missing cells, prints a table, and draws a figure (PNG, PDF, SVG) into the run group's folder. All options
of lra train can be given: protocol=clean attention.pinv=exact.

landmarks: accuracy, time, memory and two relative errors of Nyström attention, measured on the trained models with test
batches: that of the pseudo-inverse, and that of the approximated attention matrix against the exact one.

window: beside its widths, which are block lengths, stand no mixing (none), averaging and exact attention. No
position sees another block in any layer. Width 1 is none, and the length of the task's sequences is exact attention
(but without its dropout of attention weights, which is 0.1 as in the paper). The range is the narrowest width with 95 %
of what exact attention gains over none, with a 95 % interval; – and why if that gain is no more than two standard
errors. Whether these tasks have a long one is asked in arXiv 2501.14850 (Miralles-González et al. 2025).

capacity: how many pairs a method recalls, on the probes recall and noisy_recall. As for all probes, three rates are
tried first, here for each method and number of pairs; the best one on dev trains three seeds.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from lra.base.overrides import Overrides
from lra.base.paths import conf_names
from lra.runs.schema import Record
from lra.settings.compose import load_config
from lra.tables.attention_sweep import SWEEPS, SweptNumber, sweep_points, sweep_table
from lra.tables.capacity import CAPACITY, PAIRS, capacity_rows, capacity_table, numbers_of_pairs
from lra.tables.figures.attention_sweep import plot_sweep, swept_numbers
from lra.tables.figures.capacity import plot_capacity
from lra.tables.grid.output import Draw, Tables, make_task_tables, plan_run_or_show
from lra.tables.grid.own_search import search_first
from lra.tables.grid.run_set import RunSet, read_run_set
from lra.terminal.console import make_console
from lra.terminal.text_table import TextTable
from lra.types import UserError

if TYPE_CHECKING:  # slow: it imports torch
    from lra.tables.grid.plan import Plan

SUBCOMMANDS = ("landmarks", "window", "capacity")
BESIDE = {"landmarks": "landmarks_exact", "window": "window_beside"}  # sweeps over attentions without the number


def main(arguments: Sequence[str]) -> Tables | Plan:
    """Plan, run or show."""
    if not arguments or arguments[0] not in SUBCOMMANDS:
        problem = f"{arguments[0]!r} cannot be swept" if arguments else "sweep what?"
        which = ", or: ".join(f"lra sweep {name}" for name in SUBCOMMANDS)
        raise UserError(f"{problem}; type: {which}. Anything else: lra train -m key=value,value")
    name, *rest = arguments
    swept = SWEEPS.get(name)
    mixer = Overrides(arguments).of_groups("mixer")
    if mixer and swept is not None:
        line = f"{mixer[0]} has no {name}; leave it out, or vary its own options: lra train -m mixer=s4d seed=0,1"
        raise UserError(line)
    if swept is None:
        _check_pairs(Overrides(rest))
    if (search := search_first("sweep", rest, make_console(), swept=name)) is not None:
        return search
    run_set = read_run_set("sweep", rest, swept=name, second_sweep=BESIDE.get(name))
    return plan_run_or_show(run_set, make_capacity_tables if swept is None else partial(make_tables, swept))


def _check_pairs(typed: Overrides) -> None:
    """Refuse tasks whose data have no pairs."""
    names = [name for text in typed.texts("task") for name in text.split(",") if name in conf_names("task")]
    lacking = next((name for name in names if PAIRS not in load_config("train", [f"task={name}"]).task.data), None)
    if lacking is not None:
        right = ["task=recall", "task=noisy_recall"]
        line = f"task={lacking} has no pairs; type {' or '.join(right)}"
        raise UserError(line, kind="wrong_value", key="task", value=lacking, right=right)


def make_tables(swept: SweptNumber, run_set: RunSet) -> Tables:
    """Make a table and draw a figure for every task."""

    def make(_task: str, records: list[Record], title: str) -> tuple[TextTable, dict[str, Draw]]:
        points = sweep_points(records, swept)
        table = sweep_table(points, swept, title=title)
        if len(swept_numbers(points)) < 2:
            return table.with_notes(f"no figure: it needs two numbers of {swept.head} or more") if points else table, {}
        rate, columns = records[0].majority_rate, run_set.options.figure_columns
        draw = partial(plot_sweep, points, swept, title=title, majority_rate=rate, columns=columns)
        return table, {swept.name: draw}

    return make_task_tables(run_set, swept.name, make)


def make_capacity_tables(run_set: RunSet) -> Tables:
    """Make a table and draw a figure for every task that has pairs."""

    def make(_task: str, records: list[Record], title: str) -> tuple[TextTable, dict[str, Draw]]:
        rows = capacity_rows(records)
        table = capacity_table(rows, title=title)
        if len(numbers_of_pairs(rows)) < 2:
            return table.with_notes("no figure: it needs two numbers of pairs or more") if rows else table, {}
        rate, columns = records[0].majority_rate, run_set.options.figure_columns
        return table, {CAPACITY: partial(plot_capacity, rows, title=title, majority_rate=rate, columns=columns)}

    return make_task_tables(run_set, CAPACITY, make)
