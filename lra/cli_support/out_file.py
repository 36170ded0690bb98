"""The file that `out=` names."""

from __future__ import annotations

from pathlib import Path

from lra.types import UserError


def check_out(out: str | None, example: str) -> None:
    """Refuse, before anything runs, a file that cannot be one.

    Raises:
        UserError: when `out` names a folder, or nothing.
    """
    if out is not None and (not str(out) or Path(out).expanduser().is_dir()):
        place = Path(out) / example
        raise UserError(f"out={out} is {'a folder' if out else 'empty'}; type a file, for example out={place}")
