"""lra sweep landmarks: accuracy, time, memory and approximation error of Nyström attention against its landmarks.

  lra sweep landmarks                                    16 to 512 landmarks and exact attention, 3 seeds, ListOps
  lra sweep landmarks attention.num_landmarks=32,64,128 task=text,image seed=0,1
  lra sweep landmarks plan                               hours and memory that the runs would need
  lra sweep landmarks show format=csv out=landmarks.csv  from the runs that are finished
  lra sweep landmarks size=short                         minutes a cell; not the benchmark
  lra sweep window task=listops,image size=short         local attention of width 4, 16, 64 …: how long is the range?
  lra sweep window attention.block_length=2,8,32         other widths

Runs the missing cells, prints a table, and draws a figure (PNG, PDF, SVG) into the run group's folder. Two relative
errors are measured on the trained models with test batches: that of the pseudo-inverse, and that of the approximated
attention matrix against the exact one. All options of lra train can be given: protocol=clean attention.pinv=exact.

Beside the widths of a window, which are block lengths, stand no mixing (none), averaging and exact attention. No
position sees another block in any layer. Width 1 is none, and the length of the task's sequences is exact attention
(but without its dropout of attention weights, which is 0.1 as in the paper). The range is the narrowest width with 95 %
of what exact attention gains over none, with a 95 % interval; – and why if that gain is no more than two standard
errors. Whether these tasks have a long one is asked in arXiv 2501.14850 (Miralles-González et al. 2025).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from lra.base.overrides import Overrides
from lra.runs.schema import Record
from lra.tables.attention_sweep import SWEEPS, SweptNumber, sweep_points, sweep_table
from lra.tables.figures.attention_sweep import plot_sweep, swept_numbers
from lra.tables.grid.output import Draw, Tables, make_task_tables, plan_run_or_show
from lra.tables.grid.run_set import RunSet, read_run_set
from lra.terminal.text_table import TextTable
from lra.types import UserError

if TYPE_CHECKING:  # slow: it imports torch
    from lra.tables.grid.plan import Plan

SUBCOMMANDS = ("landmarks", "window")
BESIDE = {"landmarks": "landmarks_exact", "window": "window_beside"}  # sweeps over attentions without the number


def main(arguments: Sequence[str]) -> Tables | Plan:
    """Plan, run or show."""
    if not arguments or arguments[0] not in SUBCOMMANDS:
        problem = f"{arguments[0]!r} cannot be swept" if arguments else "sweep what?"
        which = ", or: ".join(f"lra sweep {name}" for name in SUBCOMMANDS)
        raise UserError(f"{problem}; type: {which}. Anything else: lra train -m key=value,value")
    swept = SWEEPS[arguments[0]]
    mixer = Overrides(arguments).of_groups("mixer")
    if mixer:
        line = f"{mixer[0]} has no {swept.name}; leave it out, or vary its own options: lra train -m mixer=s4d seed=0,1"
        raise UserError(line)
    run_set = read_run_set("sweep", arguments[1:], swept=swept.name, second_sweep=BESIDE[swept.name])
    return plan_run_or_show(run_set, partial(make_tables, swept))


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
