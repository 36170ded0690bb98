"""Names that become files and folders: a word, never a way to another place of the disk."""

from __future__ import annotations

from lra.types import UserError

MOST_NAME_BYTES = 200  # of a name; file systems take 255, endings and those of locks come on top


def checked_name(name: object, said: str, *, example: str, nested: bool = False) -> str:
    """The name as text, if a file or a folder may be called so.

    Args:
        name: what was typed, or what a record or a stored configuration says.
        said: what stands before it where it was said, such as `run_group=`.
        example: a right one.
        nested: whether it may be a folder in a folder, such as `mine/first`.

    Raises:
        UserError: for an empty or very long name, a hidden one, one that leads elsewhere, and signs that are not
            printable.
    """
    text = str(name)
    parts = text.split("/") if nested else [text]
    if len(text.encode(errors="replace")) > MOST_NAME_BYTES:
        trouble = f"is longer than {MOST_NAME_BYTES} bytes"
    elif any(not part or part[0] == "." or "/" in part or "\\" in part or not part.isprintable() for part in parts):
        trouble = "is no name for a file or a folder"
    else:
        return text
    shown = text if len(text) <= MOST_NAME_BYTES else f"{text[:40]}…"
    raise UserError(f"{said}{shown} {trouble}; type a word without /, for example {said}{example}")
