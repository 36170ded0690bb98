"""Fit a help text to the width of a terminal: examples keep their columns, prose is broken between words."""

import re
import sys
import textwrap
from collections.abc import Iterator
from shutil import get_terminal_size

EXAMPLE = re.compile(r"(?P<typed> *\S.*?) {2,}(?P<said>\S.*)")  # what is typed, and what it does in a second column
LEAST_WIDTH = 20  # of the second column
INDENT = "      "  # of what stands below the line that it belongs to


def print_help(text: str) -> None:
    """Print a help text, on a terminal with no line that is longer than its width."""
    print(wrap_help(text, get_terminal_size().columns) if sys.stdout.isatty() else text)


def wrap_help(text: str, width: int) -> str:
    """Break the lines of a help text that has lines longer than `width`."""
    if all(len(line) <= width for line in text.splitlines()):
        return text
    return "\n".join(line for block in _blocks(text) for line in _fitted(block, width))


def _blocks(text: str) -> Iterator[str]:
    """Yield paragraphs of prose, each as one line, and each other line by itself."""
    prose: list[str] = []
    for line in text.splitlines():
        if line.startswith((" ", "lra ", "- ")) or not line or EXAMPLE.fullmatch(line):
            if prose:
                yield " ".join(prose)
            prose = []
            yield line
        else:
            prose.append(line)
    if prose:
        yield " ".join(prose)


def _fitted(line: str, width: int) -> list[str]:
    example = EXAMPLE.fullmatch(line) if len(line) > width else None
    if example is None:
        indent = line[: len(line) - len(line.lstrip())]
        below = indent + ("  " if indent or line.startswith(("lra ", "- ")) else "")
        return _wrapped(line, width, below) or [""]
    column = example.start("said")
    if width - column >= LEAST_WIDTH:
        first, *others = _wrapped(example["said"], width - column, "")
        return [line[:column] + first, *(" " * column + other for other in others)]
    return [*_wrapped(example["typed"], width, INDENT), *_wrapped(INDENT + example["said"], width, INDENT)]


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(text, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
