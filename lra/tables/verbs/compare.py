"""lra compare: compare attentions on a task, with confidence intervals, tests of significance and figures.

  lra compare run task=listops attention=full,nystrom,linformer     trains the missing runs, then shows
  lra compare run attention=nystrom attention.pinv=iterative,exact  variants of one attention
  lra compare run attention=nystrom mixer=s4d,gated                 an attention and other mixers
  lra compare run attention=full pretrain=masked                    beside as many steps in all from scratch
  lra compare run attention=all size=tiny                           every attention and every mixer; also task=all
  lra compare plan task=text attention=full,nystrom seed=range(5)   hours, memory and seeds that it would need
  lra compare show task=listops run_group=table                     from the records of `lra table`
  lra compare show notes=all                                        with every note; else at most three
  lra compare show task=listops run_group=table flops=true          also at equal FLOPs, counted now: a minute
  lra compare show format=csv out=compare.csv
  lra compare show run_group=published/short_table size=short figure=mine.pdf figure_columns=1

The first attention is the baseline. Every other one is shown with its difference from the baseline and two 95 %
intervals: over seeds (from three seeds on) and over test examples (bootstrap). The verdict over seeds is "significant",
by the rule of `lra table`: with a probability of 5 % any row is called so by chance, also where rows spread unequally;
or "3 seeds cannot tell; 12 would", if 12 seeds of each row find such a difference with a probability of 80 %. Hedges' g
is the difference in standard deviations between seeds. With fewer than three seeds the verdict is by the bootstrap: "on
the test set". Where only some seeds converged, the table shows the seeds and no interval. "dev at equal time" is the
best dev accuracy within the time of the fastest row's whole training. `plan` says how many seeds a difference of one
point would need (80 % power), from the spread of the records below the folder of runs. Two figures go into the run
group's folder, each as PNG, PDF and SVG: accuracy against time with the Pareto front, and the dev accuracy of every
seed against the step. With figure=mine.pdf they are mine.pdf and mine-curves.pdf instead, also of a part of published
records. Notes name the runs that are not finished, and the convergence step of each seed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from lra.runs.collection import collect
from lra.runs.schema import Record
from lra.settings.which_run import config_hash, hashed_settings
from lra.tables.cells import make_rows
from lra.tables.comparison import baseline_row, contenders
from lra.tables.comparison_table import comparison_table
from lra.tables.dev_curves import convergence_notes, dev_curves
from lra.tables.figures.comparison import plot_pareto
from lra.tables.figures.dev_curves import curves_to_draw, plot_curves
from lra.tables.grid.output import Draw, Tables, make_task_tables, plan_run_or_show
from lra.tables.grid.own_search import search_first
from lra.tables.grid.run_set import RunSet, read_run_set
from lra.tables.pretrained_pairs import equal_steps_sentences
from lra.tables.result_sentences import result_sentences
from lra.tables.seeds_needed import SeedsNeeded, seeds_needed_on
from lra.tables.variants import RowKey
from lra.terminal.console import make_console
from lra.terminal.text_table import TextTable

if TYPE_CHECKING:  # slow: it imports torch
    from lra.tables.grid.plan import Plan

SUBCOMMANDS = ("plan", "run", "show")


def main(arguments: Sequence[str]) -> Tables | Plan:
    """Plan, run or show."""
    if (search := search_first("compare", arguments, make_console())) is not None:
        return search
    run_set = read_run_set("compare", arguments)
    made = plan_run_or_show(run_set, make_tables)
    return made if isinstance(made, Tables) else replace(made, seeds_needed=_seeds_needed(run_set))


def _seeds_needed(run_set: RunSet) -> dict[str, SeedsNeeded]:
    """Find by task how many seeds a difference of one point would need; of one method there is no difference."""
    records = [record for record in collect(run_set.cells[0].cfg.paths.runs).records if run_set.is_shown(record)]
    needed = {}
    for task in run_set.tasks():
        cells = [cell for cell in run_set.cells if cell.choice("task") == task]
        rows, hashes = {cell.kind for cell in cells}, {config_hash(cell.cfg) for cell in cells}
        of_task = [record for record in records if record.task == task]
        if len(rows) > 1:
            needed[task] = seeds_needed_on(task, of_task, hashes, rows=len(rows), seeds=len(cells) // len(rows))
    return needed


def make_tables(run_set: RunSet) -> Tables:
    """Make a table and draw two pictures for every task: accuracy against time, and the dev curves of all seeds."""

    def make(_task: str, records: list[Record], title: str) -> tuple[TextTable, dict[str, Draw]]:
        compared = contenders(records, _baseline(run_set, records), methods=run_set.typed_methods())
        step_flops = _step_flops(run_set, records) if run_set.options.flops else None
        table = comparison_table(records, compared, title=title, step_flops=step_flops)
        if not compared:
            return table, {}
        rate, curves = records[0].majority_rate, dev_curves(records)
        how: dict[str, Any] = {"title": title, "majority_rate": rate, "columns": run_set.options.figure_columns}
        drawings: dict[str, Draw] = {"compare": partial(plot_pareto, compared, asked=run_set.typed_methods(), **how)}
        lines, single = curves_to_draw(curves)
        if lines:
            drawings["curves"] = partial(plot_curves, curves, **how)
        else:
            table = table.with_notes(*single)
        at_equal_steps = equal_steps_sentences(records)
        of_all = result_sentences(compared) if len(compared) > 2 or not at_equal_steps else []
        table = replace(table, sentences=[*of_all, *at_equal_steps])
        return table.with_details(*convergence_notes(records)), drawings

    return make_task_tables(run_set, "compare", make)


def _step_flops(run_set: RunSet, records: list[Record]) -> dict[str, float]:
    """Count the FLOPs of a training step of each row whose settings are those of a cell."""
    from lra.from_config.step_flops import count_step_flops  # slow: it imports torch

    cells = {config_hash(cell.cfg): cell for cell in run_set.cells}
    found = {row.name: cells.get(row.records[0].config_hash) for row in make_rows(records)}
    return {name: count_step_flops(cell.cfg) for name, cell in found.items() if cell is not None}


def _baseline(run_set: RunSet, records: list[Record]) -> RowKey | None:
    """Find the row that is the baseline: of the first cell that has records; None when no cell has any."""
    rows = make_rows(records)
    for cell in run_set.cells:
        options = cell.cfg.mixer_settings
        row = baseline_row([row for row in rows if _has_options(options, row.records[0])], hashed_settings(cell.cfg))
        if row is not None:
            return row.key
    return None


def _has_options(chosen: dict[str, Any], record: Record) -> bool:
    """Tell whether a record's attention or mixer has these options; the record may lack options that came later."""
    settings = record.settings
    options: dict[str, Any] = {**settings.get("attention", settings.get("mixer", {}))}
    return all(chosen.get(key) == value for key, value in options.items())
