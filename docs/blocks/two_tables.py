"""What the documents say of two tables of the same methods: gains, and whether the order of methods is another."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence

from docs.blocks.markdown import joined, prose, table, verdict
from docs.blocks.published import records
from lra.base.text import number
from lra.runs.convergence import seeds_text
from lra.runs.published_numbers import in_benchmark_order
from lra.runs.schema import Record
from lra.tables.cells import TableCell
from lra.tables.statistics.estimators import LEAST_SEEDS_FOR_T
from lra.tables.statistics.significance import Pair, significant_pairs
from lra.tables.task_statistics import rank_agreement
from lra.verbs.show_choices import choices

Accuracies = Mapping[str, Sequence[float]]  # in percent, by method, over seeds
Cells = dict[str, TableCell]  # by method


class TwoTables:
    """Two published files, the tasks and methods of the second of which are compared.

    Args:
        files: their names.
        names: what the documents call the two tables.
    """

    def __init__(self, files: tuple[str, str], names: tuple[str, str]):
        self.files, self.names = files, names

    def _by_task(self) -> dict[str, tuple[Cells, Cells]]:
        """The cells of both tables, by task."""
        before, after = (_cells(records(name)) for name in self.files)
        return {
            task: ({method: before[task][method] for method in after[task]}, after[task])
            for task in in_benchmark_order(after)
        }

    def orders(self) -> str:
        """The methods from the best to the worst in both tables, and how alike the two orders are."""
        rows, paragraphs = [], []
        for task, (old, new) in self._by_task().items():
            accuracies = [[*cell.accuracies] for cell in new.values()]
            order = rank_agreement(accuracies, [cell.central_value for cell in old.values()])
            tau = f"{order.tau:+.2f}" + ("" if order.low is None else f" [{order.low:+.2f}, {order.high:+.2f}]")
            rows.append((task, _in_order(old), _in_order(new), tau.replace("-", "−"), verdict(order.p_value, ".2f")))
            alike = "the same order" if order.tau == 1 else "another order"
            mixed = {name for cells in (old, new) for name, cell in cells.items() if cell.partly_converged}
            change = change_of_order(_accuracies(old), _accuracies(new), self.names, left_out=mixed)
            paragraphs.append(f"**{choices('task')[task]['display']}: {alike}**; {change}.")
        columns = ("task", *self.names, "τ [95 % of resampled seeds]", "p")
        return "\n\n".join([table(columns, rows), *map(prose, paragraphs)])

    def gains(self) -> str:
        """By how many points the number that stands for each method's seeds is higher in the second table."""
        by_task = self._by_task()
        rows = []
        for method in sorted({method for _, new in by_task.values() for method in new}):
            tables = [(old.get(method), new.get(method)) for old, new in by_task.values()]
            gains = [new.central_value - old.central_value if old and new else None for old, new in tables]
            rows.append((f"`{method}`", *(number(gain, sign=True) for gain in gains)))
        return table(("method", *by_task), rows)


def _cells(found: Iterable[Record]) -> dict[str, Cells]:
    by_task: dict[str, dict[str, list[Record]]] = {}
    for record in sorted(found, key=lambda record: record.seed):
        identity = record.identity
        by_task.setdefault(identity["task"], {}).setdefault(identity["attention"], []).append(record)
    return {
        task: {method: TableCell(members) for method, members in of_task.items()} for task, of_task in by_task.items()
    }


def _accuracies(cells: Cells) -> Accuracies:
    return {method: cell.accuracies for method, cell in cells.items()}


def _in_order(cells: Cells) -> str:
    """The methods from the best to the worst, each with its number; with its range where only some seeds converged."""
    shown = {
        method: seeds_text(cell.accuracies, cell.converged) if cell.partly_converged else f"{cell.central_value:.2f}"
        for method, cell in cells.items()
    }
    order = sorted(cells, key=lambda method: cells[method].central_value, reverse=True)
    return ", ".join(f"{method} {shown[method]}" for method in order)


def change_of_order(old: Accuracies, new: Accuracies, names: tuple[str, str], *, left_out: Collection[str] = ()) -> str:
    """Say which pairs of methods are significantly in the opposite order, and which in one of the tables alone.

    Methods that are `left_out`, because only some of their seeds converged, are in no pair.
    """
    names_left_out = [f"`{method}`" for method in old if method in left_out]
    without = joined(names_left_out) if names_left_out else ""
    old, new = ({name: seeds for name, seeds in each.items() if name not in left_out} for each in (old, new))
    few = sorted(method for method in old if min(len(old[method]), len(new[method])) < LEAST_SEEDS_FOR_T)
    if few:
        return f"pairs are not tested, because {joined(few)} {'have' if few[1:] else 'has'} fewer than three seeds"
    before, after = significant_pairs(old), significant_pairs(new)
    turned = {pair for pair in after if Pair(pair.worse, pair.better) in before}
    kinds = {
        "significantly in the opposite order": turned,
        "significantly in the same order in both": before & after,
        f"significant {names[1]} alone": after - before - turned,
        f"significant {names[0]} alone": {
            pair for pair in before - after if Pair(pair.worse, pair.better) not in after
        },
    }
    of = "pairs of methods" + (f" without {without}, of which only some seeds converged" if without else "")
    return f"of {math.comb(len(old), 2)} {of}, " + "; ".join(
        f"{len(pairs)} {said}" + (f" ({joined(f'{a} above {b}' for a, b in sorted(pairs))})" if pairs else "")
        for said, pairs in kinds.items()
    )
