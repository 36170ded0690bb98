"""One line for what went wrong."""

from __future__ import annotations

from omegaconf.errors import OmegaConfBaseException

from lra.types import UserError


def explain(error: BaseException) -> str:
    """The line a user reads: what is wrong and what to type; a fault of ours says how to see where."""
    if isinstance(error, UserError):
        return str(error)
    if isinstance(error, OmegaConfBaseException) or type(error).__module__.startswith("hydra."):
        return _first_lines(error)
    return f"{type(error).__name__}: {error} (not foreseen; LRA_DEBUG=1 in front of the command shows where)"


def _first_lines(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    return " ".join(line for line in lines if line and not line.startswith(("full_key:", "object_type=")))
