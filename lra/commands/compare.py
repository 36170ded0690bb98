"""lra compare: attentions side by side on a task, paired by seed, with intervals and a picture.

  lra compare run task=listops attention=full,nystrom,linformer     trains what is missing, then shows
  lra compare run attention=nystrom attention.pinv=iterative,exact  variants of one
  lra compare run attention=nystrom mixer=s4d,gated                 other mixers beside an attention
  lra compare run attention=all size=tiny                           every attention and every mixer; also task=all
  lra compare plan task=text attention=full,nystrom seed=range(5)   hours and memory that the runs would need
  lra compare show task=listops run_group=table                     from the records of `lra table`
  lra compare show format=csv out=compare.csv

The first attention is the baseline. Every other one is shown with its difference from the baseline and two 95 %
intervals: over seeds (paired t test, from three seeds on) and over test examples (bootstrap). The verdict is
"significant" or "n.s." by the interval over seeds; with fewer than three, "on the test set". Where some seeds converged
and others did not, the seeds stand in place of the interval. Two figures go into the run group's folder, each as PNG,
PDF and SVG: accuracy against time with the Pareto front, and the dev accuracy of every seed against the step. Notes say
which of the runs that were asked for are not finished, and at which step each seed converged.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from lra.cli_support.campaign import Campaign
    from lra.cli_support.output import Draw
    from lra.results.schema import Record
    from lra.results.tables import TextTable


def main(words: Sequence[str]) -> None:
    """Plan, run or show."""
    from lra.cli_support.action import act
    from lra.cli_support.campaign import Campaign

    act(Campaign("compare", words), show)


def show(campaign: Campaign, console: Console) -> None:
    """Print a table and draw two pictures for every task: accuracy against time, and the dev curves of all seeds."""
    from lra.cli_support.output import write_tasks
    from lra.results.comparison import comparison_table, contenders
    from lra.results.plateau import dev_curves, plateau_notes
    from lra.results.plot_comparison import plot_pareto
    from lra.results.plot_curves import plot_curves

    def make(records: list[Record], title: str) -> tuple[TextTable, dict[str, Draw]]:
        compared = contenders(records, _baseline(campaign, records), methods=campaign.typed_methods())
        table = comparison_table(records, compared, title=title)
        if not compared:
            return table, {}
        rate, curves = records[0]["outcome"]["majority_rate"], dev_curves(records)
        drawings: dict[str, Draw] = {"compare": partial(plot_pareto, compared, title=title, majority_rate=rate)}
        if curves:
            drawings["curves"] = partial(plot_curves, curves, title=title, majority_rate=rate)
        return table.with_notes(*plateau_notes(records)), drawings

    write_tasks(campaign, console, "compare", make)


def _baseline(campaign: Campaign, records: list[Record]) -> str | None:
    """Name the row that is the baseline: of the first cell that has records; None when no cell has any."""
    from lra import config
    from lra.results.baseline import baseline_row
    from lra.results.variants import group_by_variant

    groups = group_by_variant(records)
    for cell in campaign.cells if groups else ():
        options = config.mixer_settings(cell.cfg)
        rows = {name: members for name, members in groups.items() if _has_options(options, members[0])}
        if rows:
            return baseline_row(rows, config.settings(cell.cfg))
    return None


def _has_options(chosen: dict[str, Any], record: Record) -> bool:
    """Tell whether a record's attention or mixer has these options; the record may lack options that came later."""
    settings = record["settings"]
    options: dict[str, Any] = {**settings.get("attention", settings.get("mixer", {}))}
    return all(chosen.get(key) == value for key, value in options.items())
