"""Check and write the file that `out=` names."""

from __future__ import annotations

from pathlib import Path

from lra.types import UserError


def check_out(out: str | None, example: str, *, makes_folder: bool = False) -> None:
    """Refuse a wrong `out=` before any run starts.

    Args:
        out: the words after `out=`; None: nothing was typed.
        example: the name of a file, for the error.
        makes_folder: whether the command makes the file's folder.

    Raises:
        UserError: when `out` is empty, the name of a folder, a pipe or a device, or in a folder that is not there.
    """
    from lra.base.files import regular_file

    if out is None:
        return
    if not str(out) or Path(out).expanduser().is_dir():
        place = Path(out) / example
        raise UserError(
            f"out={out} is {'a folder' if out else 'empty'}; type a file, for example out={place}",
            kind="no_file",
            key="out",
            value=out,
            right=str(place),
        )
    path = out_path(out)
    if path.exists():
        regular_file(path, f"out={out}")  # a device or a pipe would be replaced by a file
    elif not path.parent.is_dir() and not makes_folder:
        raise UserError(
            f"out={out}: its folder is not there; type: mkdir -p {path.parent}",
            kind="missing_folder",
            key="out",
            value=out,
        )


def out_path(out: str) -> Path:
    """Return the file to write; where `out` is a link, the file that it leads to: the link stays."""
    return Path(out).expanduser().resolve()
