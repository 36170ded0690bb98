"""Leave no folder of a run that was refused before its training began."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from lra.base.files import delete_with_empty_parents
from lra.run import Run
from lra.runs.files import MARKS_OF_A_RUN
from lra.types import UserError


@contextmanager
def no_folder_if_refused(run: Run, runs: Path) -> Iterator[Callable[[], object]]:
    """Delete the run's folder after a user's mistake in this context, if it is new and no training has begun.

    So are the folders above it, below `runs`, that are empty then. What was there before stays as it is. The caller
    holds the run's lock.

    Yields:
        What is to be called when the training begins.
    """
    is_new = not any((run.folder / name).exists() for name in MARKS_OF_A_RUN)
    begun: list[bool] = []
    try:
        yield lambda: begun.append(True)
    except UserError:
        if is_new and not begun:
            below_runs = (above for above in run.folder.parents if above != runs and above.is_relative_to(runs))
            delete_with_empty_parents(run.folder, below_runs)
        raise
