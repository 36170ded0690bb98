"""lra tune: search hyperparameters, with the same space and the same number of trials for each method.

  lra tune task=listops attention=full,nystrom,linformer budget=20    runs the missing trials, then shows
  lra tune plan task=listops attention=full,nystrom                   hours and memory that the trials would need
  lra tune run workers=2 trainer.threads=1                            two trials at a time
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

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import matplotlib.pyplot as plt
from rich.console import Console

from lra.runs.record_words import method_column
from lra.runs.schema import Record
from lra.tables.grid.output import Draw, plan_run_or_show, write_task_tables
from lra.tables.grid.run_set import RunSet, read_run_set
from lra.tables.grid.tuned import searches_of
from lra.tables.statistics.estimators import CONFIDENCE
from lra.tables.tuning import Search, expected_best, expected_best_lower_bounds, tuning_table
from lra.terminal import plots
from lra.terminal.text_table import TextTable

SUBCOMMANDS = ("plan", "run", "show")

HEIGHT = 2.6  # of the figure, in inches


def main(arguments: Sequence[str]) -> None:
    """Plan, run or show."""
    plan_run_or_show(read_run_set("tune", arguments), show)


def show(run_set: RunSet, console: Console) -> None:
    """Print the best configuration of each method for every task, and draw the expected best."""
    space = run_set.space()

    def make(task: str, records: list[Record], title: str) -> tuple[TextTable, dict[str, Draw]]:
        searches = searches_of([cell for cell in run_set.cells if cell.choice("task") == task], records)
        head = method_column(records)
        table = tuning_table(searches, title=title, head=head, seed=space.seed, space=space.hash)
        begun = [search for search in searches if search.trials]
        return table, {"tune": partial(plot_tuning, begun, title=title)} if begun else {}

    write_task_tables(run_set, console, "tune", make)


@plots.for_a_column
def plot_tuning(searches: Sequence[Search], path: Path, *, title: str) -> Path:
    """Draw the expected best of n trials of each method, and its lower bound, into a file; one trial is a point."""
    figure, axis = plt.subplots(figsize=(plots.COLUMN, HEIGHT), layout="constrained")
    colours = plots.colours_of([search.method for search in searches])
    ends = []
    for search in searches:
        heights, colour = 100 * expected_best(search.accuracies), colours[search.method]
        bounds = 100 * expected_best_lower_bounds(search.accuracies)
        numbers = list(range(1, len(heights) + 1))
        (line,) = axis.plot(numbers, heights, color=colour, marker="." if len(numbers) == 1 else "")
        least = f"at least {bounds[-1]:.2f} % with {100 * CONFIDENCE:.0f} % confidence"
        plots.hover(line, f"{search.method}: {heights[-1]:.2f} % after {numbers[-1]} trials, {least}")
        axis.fill_between(numbers, bounds, heights, color=colour, alpha=0.12, lw=0)
        ends.append(plots.Label(numbers[-1], heights[-1], plots.short_name(search.method), colour))
    axis.xaxis.set_major_locator(plt.MaxNLocator(integer=True))
    axis.set_xlabel("number of trials")
    axis.set_ylabel("expected best dev accuracy (%)")
    failed = sum(len(search.failed) for search in searches)
    counted = f"{failed} failed trials have 0 %" if failed else ""
    bound = f"{100 * CONFIDENCE:.0f} % lower bound"
    shown = f"expected maximum (Dodge et al. 2019); shaded: down to its {bound}, of each n alone"
    plots.write_title(figure, title, shown, counted)
    plots.label_ends(figure, {axis: ends})
    return plots.save_figure(figure, path)
