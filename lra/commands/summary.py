"""What a finished run prints: its accuracy beside the paper's."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from lra.commands.console import print_table
from lra.results.paper import beside, departures, in_short
from lra.results.reference import PASS_BAND, paper_accuracy
from lra.results.schema import Record
from lra.results.statistics import binomial_error
from lra.results.text import visible, visible_lines


def print_summary(console: Console, folder: Path, record: Record) -> None:
    """Print the table of one record, and say what it is worth."""
    identity, outcome, cost = record["identity"], record["outcome"], record["cost"]
    paper = beside(record, "paper")
    measured, majority = 100 * outcome["test_accuracy"], 100 * outcome["majority_rate"]
    title = f"{identity['task']}, protocol {identity['protocol']}, size {identity['size']}"
    table = Table(title=Text(visible(title)))
    for name in ("attention", "steps", "test accuracy", "paper", "majority class", "training"):
        table.add_column(name, justify="left" if name == "attention" else "right")
    table.add_row(
        Text(visible(identity["attention"])),
        f"{outcome['steps']:,}",
        f"{measured:.2f} %",
        "–" if paper is None else f"{paper:.2f} %",
        f"{majority:.2f} %",
        f"{cost['train_seconds']:,.0f} s",
    )
    print_table(console, table)
    console.print(visible_lines(verdict(record)))
    for what, path in (("learning curve", folder / "curve.png"), ("record", folder / "result.json")):
        console.print(f"{what:<16}{visible(str(path))}")


def verdict(record: Record) -> str:
    """One or two sentences: against the majority class, and against the paper if the run may be compared with it."""
    identity, outcome = record["identity"], record["outcome"]
    measured, majority, tested = outcome["test_accuracy"], outcome["majority_rate"], outcome["test_examples"]
    noise = binomial_error(measured, tested)
    gain = 100 * (measured - majority)
    against = (
        f"beats the majority class by {gain:.1f}" if gain > 0 else f"does not beat the majority class: {gain:+.1f}"
    )
    lines = [f"It {against} points (one standard error of this test: {100 * noise:.1f} points)."]
    if record["settings"]["task"].get("dev_split") == "test":
        lines.append(
            "Its checkpoint was chosen on the test split, as the paper's (protocol.text_dev=held_out: on train)."
        )
    if identity["size"] != "full":
        mixer = "mixer" if "mixer" in record["settings"] else "attention"
        lines.append(
            f"This is size={identity['size']}, not the benchmark: few examples and {outcome['steps']:,} steps."
            f" The full run: lra train task={identity['task']} {mixer}={identity['attention']}"
        )
        return "\n".join(lines)
    task = identity["task"]
    paper, band, apart = paper_accuracy(identity["attention"], task), PASS_BAND.get(task), departures(record)
    if record["provenance"]["data_origin"] == "stand-in":
        lines.append(f"Its data only stand in for {task}: this is no result of that task.")
    elif paper is not None and apart:
        lines.append(f"Not the paper's settings, so not comparable with its accuracy: {in_short(apart, most=10)}.")
    elif paper is not None and band is not None:
        difference = 100 * measured - paper
        where = "inside" if abs(difference) <= band else "outside"
        lines.append(f"Against the paper {difference:+.2f} points, {where} the band of ±{band:g}.")
    return "\n".join(lines)
