"""lra tune: search hyperparameters, with the same space and the same number of trials for each method.

  lra tune task=listops attention=full,nystrom,linformer budget=20    runs the missing trials, then shows
  lra tune plan task=listops attention=full,nystrom                   hours and memory that the trials would need
  lra tune run workers=2                                              two trials at a time
  lra tune size=short 'recipe.optimizer.lr=interval(1e-4, 1e-2)'      another interval
  lra tune size=short recipe.optimizer.weight_decay=0                 an option that is not searched
  lra tune run --config-dir FOLDER sweep=mine                         a space of your own, as conf/sweep/tune.yaml
  lra tune show format=csv out=tune.csv                               from the trials that are finished
  lra table run recipe=tuned task=listops attention=full,nystrom      the best configuration of each, with three seeds

Points are drawn from the space at random once, and trial k of every method has the same point. The best one is chosen
by dev accuracy alone. All trials have one seed, 1000, which no table has. A trial is a run of the group `tune`: the
same command goes on after a kill, and several processes share the trials. A trial that fails (out of memory, a loss of
NaN, a refused value) counts as tried and is not run again; delete failed.json in its folder to run it again.

  budget=20    number of trials of each method; a larger one goes on from those of a smaller one
  sweep=tune   the space (conf/sweep/tune.yaml): learning rate, warm-up, weight decay, dropout

The figure shows the expected best dev accuracy against the number of trials, with a 95 % lower bound.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import matplotlib.pyplot as plt

from lra.runs.schema import Record, method_column
from lra.tables.grid.output import Draw, Tables, make_task_tables, plan_run_or_show
from lra.tables.grid.run_set import RunSet, read_run_set
from lra.tables.grid.tuned import searches_of
from lra.tables.statistics.estimators import CONFIDENCE
from lra.tables.tuning import Search, expected_best, expected_best_lower_bounds, tuning_table
from lra.terminal import figure_names, figure_style, plots
from lra.terminal.figure_file import Drawn
from lra.terminal.text_table import TextTable

if TYPE_CHECKING:  # slow: it imports torch
    from lra.tables.grid.plan import Plan

SUBCOMMANDS = ("plan", "run", "show")

HEIGHT = 2.6  # of the figure, in inches
MOST_MARKERS = 5  # on a line


def main(arguments: Sequence[str]) -> Tables | Plan:
    """Plan, run or show."""
    return plan_run_or_show(read_run_set("tune", arguments), make_tables)


def make_tables(run_set: RunSet) -> Tables:
    """Tabulate the best configuration of each method for every task, and draw the expected best."""
    space, columns = run_set.space(), run_set.options.figure_columns

    def make(task: str, records: list[Record], title: str) -> tuple[TextTable, dict[str, Draw]]:
        searches = searches_of([cell for cell in run_set.cells if cell.choice("task") == task], records)
        head = method_column(records)
        table = tuning_table(searches, title=title, head=head, seed=space.seed, space=space.hash)
        begun = [search for search in searches if search.trials]
        return table, {"tune": partial(plot_tuning, begun, title=title, columns=columns)} if begun else {}

    return make_task_tables(run_set, "tune", make)


@figure_style.for_a_paper
def plot_tuning(searches: Sequence[Search], path: Path, *, title: str, columns: int = 2) -> Drawn:
    """Draw the expected best of n trials of each method, and its lower bound, into a file; one trial is a point.

    Of more than eight methods, exact attention and the best ones have a name. The names stand at the ends of the lines,
    or in a legend.
    """
    figure, axis = plt.subplots(figsize=(figure_style.WIDTHS[columns], HEIGHT), layout="constrained")
    methods = [search.method for search in searches]
    by_accuracy = sorted(searches, key=lambda search: -expected_best(search.accuracies)[-1])
    named = figure_names.choose_named(
        methods, first=figure_names.exact_first(methods), best=[search.method for search in by_accuracy]
    )
    looks = figure_style.looks_of(named)
    ends = []
    for place, search in enumerate(searches):
        look = looks.get(search.method, figure_style.NO_NAME)
        heights, bounds = (
            100 * best for best in (expected_best(search.accuracies), expected_best_lower_bounds(search.accuracies))
        )
        numbers = list(range(1, len(heights) + 1))
        name = figure_names.short_name(search.method) if search.method in named else ""
        apart = max(1, len(numbers) // MOST_MARKERS)
        every = (place % apart, apart)  # so that the markers of lines that lie on each other do not
        (line,) = axis.plot(numbers, heights, **look.of_line, markevery=every, label=name)
        least = f"at least {bounds[-1]:.2f} % with {100 * CONFIDENCE:.0f} % confidence"
        figure_style.hover(line, f"{search.method}: {heights[-1]:.2f} % after {numbers[-1]} trials, {least}")
        if name:
            axis.fill_between(numbers, bounds, heights, color=look.colour, alpha=0.1, lw=0)
            ends.append(figure_names.Label(numbers[-1], heights[-1], name, look.colour))
    axis.xaxis.set_major_locator(plt.MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axis.yaxis.set_major_locator(plots.round_numbers(6))
    axis.set_xlabel("number of trials")
    axis.set_ylabel("expected best dev accuracy (%)")
    if not figure_names.label_ends(axis, ends):
        figure_names.legend_below(figure, [axis])
    failed = sum(len(search.failed) for search in searches)
    caption = figure_names.caption_of(
        title,
        "Expected maximum of n trials (Dodge et al. 2019).",
        f"Shaded: down to its {100 * CONFIDENCE:.0f} % lower bound, which holds for each n by itself.",
        f"{failed} failed trials have 0 %." if failed else "",
        figure_names.grey_sentence([method for method in methods if method not in named]),
    )
    return figure_style.save_figure(figure, path, caption=caption)
