"""Files that are replaced whole: after a kill or a power cut there is the old one or the new one."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a path beside `path` to write to; when the block ends without an error, that file takes `path`'s place."""
    unfinished = path.with_name(f"{path.name}.unfinished")
    yield unfinished
    to_disk(unfinished)
    os.replace(unfinished, path)


def replace_bytes(path: Path, content: bytes | memoryview) -> None:
    """Write a file in one step."""
    with replacing(path) as unfinished:
        unfinished.write_bytes(content)


def replace_text(path: Path, text: str) -> None:
    """Write a text file in UTF-8 in one step; line ends stay as they are."""
    replace_bytes(path, text.encode())


def to_disk(path: Path) -> None:
    """Wait until the content of a written file is on the disk: a rename before that could survive a power cut alone."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def sha256(path: Path) -> str:
    """Hex digest of a file, read in pieces."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
