"""Check names that become files and folders: they must not lead to another place on the disk."""

from __future__ import annotations

from lra.types import UserError

MOST_NAME_BYTES = 200  # file systems take 255, and endings such as those of lock files are added to a name


def checked_name(name: object, said: str, *, example: str, nested: bool = False) -> str:
    """Return the name as text, if it can be the name of a file or a folder.

    Args:
        name: the name, from the user, a record or a stored configuration.
        said: the text before the name in the error, such as `run_group=`.
        example: a correct name, for the error.
        nested: whether the name may have a parent folder, such as `mine/first`.

    Raises:
        UserError: for an empty or very long name, a hidden one, one that leads to another folder, and one with
            characters that are not printable.
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
    raise UserError(
        f"{said}{shown} {trouble}; type a word without /, for example {said}{example}",
        kind="bad_name",
        key=said.rstrip("="),
        value=name,
        right=example,
    )
