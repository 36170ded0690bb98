"""Blocks on self-pretraining beside training from scratch for as many steps."""

from docs.blocks.markdown import ends, interval, joined, percent, prose, some_columns
from docs.blocks.published import records
from lra.tables.cells import TableCell, make_rows
from lra.tables.pretrained_pairs import equal_steps_sentences, pairs_of_equal_steps
from lra.tables.statistics.significance import compare

FILE = "pretraining"
COLUMNS = ("attention", "accuracy (%)", "converged", "Δ over seeds", "s/step")


def compared() -> str:
    """Of each attention the row from scratch and the pretrained one, and what so many seeds can tell of them."""
    parts = []
    for scratch, _ in _pairs():
        group = f"run_group=published/{FILE}.jsonl"
        command = f"compare show sweep=pretraining {group} attention={_method(scratch)}"
        parts.append(some_columns(command, COLUMNS))
    return "\n\n".join([*parts, prose(" ".join(equal_steps_sentences(records(FILE))))])


def means() -> str:
    """The difference of the means of each attention, with its interval, also where only some seeds converged."""
    said = [f"`{_method(scratch)}` {_difference(scratch, pretrained)} points" for scratch, pretrained in _pairs()]
    return prose(f"Means, pretrained minus from scratch, each with a 95 % interval: {'; '.join(said)}.")


def in_short() -> str:
    """The result in a sentence, for the front page: differences, or how many seeds converged where not all did."""
    said = []
    for scratch, pretrained in _pairs():
        method, seeds = f"`{_method(scratch)}`", (pretrained.converged, scratch.converged)
        if scratch.partly_converged or pretrained.partly_converged:
            said.append(f"{method} converges with {seeds[0]} of {scratch.count} seeds, without it with {seeds[1]}")
        else:
            said.append(f"{method} gains {_difference(scratch, pretrained)} points")
    where = "[self-pretraining](docs/results_pretraining.md), on the short Pathfinder and with as many steps in all"
    return f"{where}: {'; '.join(said)}."


def _pairs() -> list[tuple[TableCell, TableCell]]:
    """Of each attention the cell from scratch and the pretrained one."""
    found = records(FILE)
    of_key = {row.key: cell for row in make_rows(found) for cell in row.cells.values()}
    return [(of_key[scratch], of_key[pretrained]) for scratch, pretrained, _ in pairs_of_equal_steps(found)]


def _method(cell: TableCell) -> str:
    return cell.records[0].method


def _difference(scratch: TableCell, pretrained: TableCell) -> str:
    """The difference of two means in points, with the interval of the table, also where that has none."""
    accuracies = {"scratch": scratch.accuracies, "pretrained": pretrained.accuracies}
    return interval(compare(accuracies, "scratch").differences["pretrained"])


def both_stages() -> str:
    """What the pretrained runs reached in their first stage, and what both stages have cost."""
    found = [record for record in records(FILE) if record.pretraining is not None]
    lines = []
    for method in dict.fromkeys(record.method for record in found):
        firsts = [record.pretraining for record in found if record.method == method and record.pretraining]
        accuracies = [100 * first["dev_accuracy"] for first in firsts]
        shares = {first["flops"] / (first["flops"] + first["flops_after"]) for first in firsts}
        lines.append(
            f"`{method}` predicts {ends(accuracies, '.1f')} % of the masked pixels of dev, and the first stage has"
            f" {joined(percent(share) for share in sorted(shares))} of the FLOPs."
        )
    return prose(" ".join(lines))
