"""How much a method recalls: its accuracy on a probe against the number of pairs in a sequence, a row for each method.

Unlike the number of an attention, of which `lra.tables.attention_sweep` has the points, this is a number of the task,
which every method has: runs of another number have other data, so nothing here compares across numbers.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lra.base.text import MISSING, number
from lra.runs.schema import Record, method_column
from lra.tables.cells import TRIED, TableCell, cell_note, make_rows, tried_text
from lra.tables.comparison import not_below_the_best
from lra.tables.variants import RowKey
from lra.terminal.text_table import Column, TextTable

CAPACITY = "capacity"  # the name of the sweep, its table and its figure
PAIRS = "pairs"  # the setting `task.data.pairs`


@dataclass(frozen=True, kw_only=True)
class CapacityRow:
    """A method's cells by the number of pairs, in ascending order."""

    name: str
    cells: Mapping[int, TableCell]


def pairs_of(record: Record) -> int | None:
    """Read the number of pairs in a record's sequences; None of a task without pairs."""
    pairs = record.settings.get("task", {}).get("data", {}).get(PAIRS)
    return pairs if isinstance(pairs, int) else None


def capacity_rows(records: Iterable[Record]) -> list[CapacityRow]:
    """Make the rows of one task's records, in the order of their names; those without pairs are left out."""
    by_pairs: dict[int, list[Record]] = defaultdict(list)
    for record in records:
        if (pairs := pairs_of(record)) is not None:
            by_pairs[pairs].append(record)
    names: dict[RowKey, str] = {}
    cells: dict[RowKey, dict[int, TableCell]] = defaultdict(dict)
    for pairs, of_pairs in sorted(by_pairs.items()):
        for row in make_rows(of_pairs):
            names[row.key] = row.name
            (cells[row.key][pairs],) = row.cells.values()
    return [CapacityRow(name=names[key], cells=cells[key]) for key in sorted(cells, key=lambda key: names[key])]


def numbers_of_pairs(rows: Iterable[CapacityRow]) -> list[int]:
    """The numbers of pairs that some row has, in ascending order."""
    return sorted({pairs for row in rows for pairs in row.cells})


def capacity_table(rows: Sequence[CapacityRow], *, title: str) -> TextTable:
    """Build a table with a row for each method and a column for each number of pairs."""
    head = method_column([record for row in rows for cell in row.cells.values() for record in cell.records])
    columns, best, sentences = [Column(head, [row.name for row in rows])], set(), []
    for pairs in numbers_of_pairs(rows):
        cells = {row.name: row.cells[pairs] for row in rows if pairs in row.cells}
        column, leading = f"{pairs} pairs (%)", not_below_the_best(cells)
        columns.append(Column(column, [str(cells.get(row.name, MISSING)) for row in rows]))
        best |= {(index, column) for index, row in enumerate(rows) if row.name in leading}
        sentences += [_sentence(pairs, cells, leading)] if leading else []
    columns.append(Column(TRIED, [tried_text(row.cells.values()) for row in rows], optional=1, if_filled=True))
    caption = cell_note(cell for row in rows for cell in row.cells.values())
    note = "Bold: not significantly below the best of the column, over three seeds or more"
    return TextTable.of_columns(
        columns,
        title=title,
        sentences=sentences[-1:],
        notes=[f"{caption}.", *[f"{note}."] * bool(best)] if rows else [],
        latex_caption=caption,
        best=frozenset(best),
        csv_rows=[_csv_row(row, pairs, head) for row in rows for pairs in row.cells],
    )


def _sentence(pairs: int, cells: Mapping[str, TableCell], leading: Iterable[str]) -> str:
    """Word which methods are ahead with so many pairs."""
    ordered = sorted(leading, key=lambda name: -cells[name].mean)
    *others, last = [f"{name} ({number(cells[name].mean, 1)} %)" for name in ordered]
    ahead = f"{', '.join(others)} and {last} are" if others else f"{last} is"
    return f"With {pairs} pairs, {ahead} not significantly below the best."


def _csv_row(row: CapacityRow, pairs: int, head: str) -> dict[str, object]:
    cell = row.cells[pairs]
    return {
        "task": cell.task,
        head: row.name,
        PAIRS: pairs,
        **cell.over_seeds,
        "tried": cell.tried,
    }
