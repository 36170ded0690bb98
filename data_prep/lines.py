"""Read the lines of a table in a text file."""

import codecs
from collections.abc import Iterator
from functools import partial
from typing import IO


def lines(file: IO[bytes], most_bytes: int) -> Iterator[bytes]:
    """Yield the lines, without a byte order mark before the first and without blank lines at the end.

    Args:
        file: the open file.
        most_bytes: a longer line is given in parts of this size.
    """
    blank = 0
    for number, line in enumerate(iter(partial(file.readline, most_bytes), b"")):
        content = line if number else line.removeprefix(codecs.BOM_UTF8)
        if not content.strip(b"\r\n"):
            blank += 1
            continue
        yield from (b"\n" for _ in range(blank))
        blank = 0
        yield content
