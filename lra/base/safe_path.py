"""How a Python process is started from here: it imports installed code and what PYTHONPATH names.

`python -m` and `python -c` would look in the current folder first, so that a file called `hydra.py` there would run.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

VARIABLE = "PYTHONSAFEPATH"


def python_module(module: str, *words: str) -> tuple[str, ...]:
    """Return the command that runs an installed module with some arguments in a process of its own."""
    return (sys.executable, "-P", "-m", module, *words)


@contextmanager
def safe_path() -> Iterator[None]:
    """Let processes that a library starts meanwhile import nothing from the current folder either.

    Such are those of Hydra's launchers, of multiprocessing and of torch's compiler, whose command is not ours.
    """
    before = os.environ.get(VARIABLE)
    os.environ[VARIABLE] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[VARIABLE]
        else:
            os.environ[VARIABLE] = before
