"""The trials of a search by method, and their use."""

from collections import defaultdict
from collections.abc import Sequence

from lra.results.tuning import Search, Trial
from lra.runs.failure import read_failure
from lra.runs.record import read_record
from lra.sweeps.grid import Cell


def searches_of(trials: Sequence[Cell]) -> list[Search]:
    """Read what has become of the trials of a search, by method and task, in the order of the cells."""
    cells: dict[tuple[str, ...], list[Cell]] = defaultdict(list)
    for cell in trials:
        cells[cell.without_point].append(cell)
    return [
        Search(
            method=f"{of_method[0].choice('attention')}{of_method[0].varied_settings}",
            task=of_method[0].choice("task"),
            budget=len(of_method),
            trials=[trial for trial in map(_outcome, of_method) if trial is not None],
        )
        for of_method in cells.values()
    ]


def _outcome(cell: Cell) -> Trial | None:
    """Read the result of a trial, or why it failed; None if it has not ended."""
    record, failure = read_record(cell.folder), read_failure(cell.folder)
    if record is None and failure is None:
        return None
    assert cell.trial is not None
    return Trial(
        number=cell.trial,
        configuration=cell.folder.parent.name,
        point=dict(word.split("=", 1) for word in cell.point),
        accuracy=record["outcome"]["best_dev_accuracy"] if record else None,
        error=failure.error if failure and not record else None,
    )
