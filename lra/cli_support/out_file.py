"""Check the file that `out=` names."""

from __future__ import annotations

from pathlib import Path

from lra.types import UserError


def check_out(out: str | None, example: str) -> None:
    """Refuse a wrong `out=` before any run starts.

    Raises:
        UserError: when `out` is the name of a folder, or empty.
    """
    if out is not None and (not str(out) or Path(out).expanduser().is_dir()):
        place = Path(out) / example
        raise UserError(f"out={out} is {'a folder' if out else 'empty'}; type a file, for example out={place}")
