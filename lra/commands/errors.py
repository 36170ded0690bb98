"""One line for what went wrong."""

from __future__ import annotations

import errno

from omegaconf.errors import OmegaConfBaseException

from lra.types import UserError

FOLDER_TROUBLE = {
    errno.ENOSPC: "no space is left",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "the folder cannot be written",
    errno.EPERM: "the folder cannot be written",
    errno.EROFS: "the folder is read-only",
    errno.ENOTDIR: "a file is where a folder should be",
    errno.EEXIST: "a file is where a folder should be",
}
OUT_OF_MEMORY = ("CUDA out of memory", "not enough memory", "can't allocate memory")  # torch: CUDA, CPU


def explain(error: BaseException) -> str:
    """The line a user reads: what is wrong and what to type; a fault of ours says how to see where."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OmegaConfBaseException) or type(error).__module__.startswith("hydra."):
        return _first_lines(error)
    if isinstance(error, OSError) and error.errno in FOLDER_TROUBLE:
        where = f" at {error.filename}" if error.filename else ""
        return (
            f"{FOLDER_TROUBLE[error.errno]}{where}; what was there before is kept. lra doctor names the folders;"
            " others: export LRA_DATA_DIR=… or LRA_RUNS_DIR=…"
        )
    if isinstance(error, MemoryError) or any(words in str(error) for words in OUT_OF_MEMORY):
        return (
            "out of memory; the last checkpoint is kept. Smaller parts of the same batch:"
            " trainer.accumulate_grad_batches=4 (twice that if it still does not fit)"
        )
    return f"{type(error).__name__}: {error} (not foreseen; LRA_DEBUG=1 in front of the command shows where)"


def _first_lines(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    return " ".join(line for line in lines if line and not line.startswith(("full_key:", "object_type=")))
