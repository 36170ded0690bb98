"""Leave no folder of a run that was refused before its first step."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from lra.runs.files import LAST, MARKS_OF_A_RUN, METRICS, RESULT
from lra.training.curves import read_curves
from lra.training.module import NonFiniteLossError
from lra.types import UserError

NO_MEMORY = "no_memory"  # kind of the error of a run that is too large


@contextmanager
def no_folder_if_refused(folder: Path, runs: Path) -> Iterator[None]:
    """Delete the run's folder after a user's mistake in this context, if it is new and nothing was trained in it.

    So are the folders above it, below `runs`, that are empty then. What was there before stays as it is, and so does
    a run whose training has failed. The caller holds the run's lock.
    """
    is_new = not any((folder / name).exists() for name in MARKS_OF_A_RUN)
    try:
        yield
    except UserError as error:
        has_failed = isinstance(error, NonFiniteLossError) or error.kind == NO_MEMORY
        if is_new and not has_failed and not _has_begun(folder):
            shutil.rmtree(folder, ignore_errors=True)
            for above in folder.parents:
                if above == runs or not above.is_relative_to(runs):
                    break
                with suppress(OSError):  # another run is in it
                    above.rmdir()
        raise


def _has_begun(folder: Path) -> bool:
    return any((folder / name).exists() for name in (LAST, RESULT)) or bool(read_curves(folder / METRICS))
