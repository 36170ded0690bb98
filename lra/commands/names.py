"""Names that become files and folders: a word, never a way to another place of the disk."""

from __future__ import annotations

from lra.types import UserError

MOST_BYTES = 100  # of a name; with an ending and a lock's it stays below what file systems take


def checked_name(name: object, what: str, example: str) -> str:
    """The name as text, if a file or a folder may be called so.

    Args:
        name: what was typed, or what a record says.
        what: for the message, such as `name=`.
        example: a right one.

    Raises:
        UserError: for an empty or very long name, a hidden one, a path, and signs that are not printable.
    """
    text = str(name)
    if not text:
        trouble = "is empty"
    elif len(text.encode(errors="replace")) > MOST_BYTES:
        trouble = f"is longer than {MOST_BYTES} bytes"
    elif text.startswith(".") or "/" in text or "\\" in text or not text.isprintable():
        trouble = "is no name for a file or a folder"
    else:
        return text
    shown = text if len(text) <= MOST_BYTES else f"{text[:40]}…"
    raise UserError(f"{what}{shown!r} {trouble}; a name is a word without /, such as {what}{example}")
