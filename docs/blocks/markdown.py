"""Write tables and paragraphs as they stand in the documents."""

import re
import textwrap
from collections.abc import Callable, Iterable, Sequence

from docs.blocks.published import printed
from lra.base.text import number
from lra.tables.comparison import SIGNIFICANT
from lra.tables.statistics.estimators import Interval
from lra.tables.statistics.significance import ALPHA
from lra.terminal.text_table import TextTable

WIDTH = 118

SHORT = re.compile(r"[\d.,×]+ (s|/ [\d.,×]+)")


def table(columns: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Write a table; numbers stay in one line with their unit, or with the other of a pair (`4.00 / 0.92`)."""
    lines = [
        columns,
        *([cell.replace(" ", "\N{NO-BREAK SPACE}") if SHORT.fullmatch(cell) else cell for cell in row] for row in rows),
    ]
    assert len({len(line) for line in lines}) == 1, lines
    first, *rest = (f"| {' | '.join(line)} |" for line in lines)
    return "\n".join([first, f"|{'---|' * len(columns)}", *rest])


def prose(text: str) -> str:
    """Write a paragraph."""
    return textwrap.fill(" ".join(text.split()), WIDTH, break_long_words=False, break_on_hyphens=False)


def joined(words: Iterable[str]) -> str:
    """Write `a, b and c`."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last


def ends(numbers: Iterable[float], form: str = ".2f") -> str:
    """Write the least and the largest of some numbers: `0.96 to 1.12`, or one number where they are alike."""
    found = sorted(numbers)
    return " to ".join(dict.fromkeys(f"{number:{form}}" for number in (found[0], found[-1])))


def percent(fraction: float, digits: int = 0) -> str:
    """Write a fraction in percent."""
    return f"{100 * fraction:.{digits}f} %"


def interval(found: Interval) -> str:
    """Write a difference in points with its interval."""
    low, high = number(found.low, sign=True), number(found.high, sign=True)
    return f"{number(found.difference, sign=True)} [{low}, {high}]"


def verdict(p_value: float, form: str = ".2g") -> str:
    """Write a p value with what follows from it."""
    return f"p = {p_value:{form}}, {SIGNIFICANT[p_value < ALPHA]}"


def table_of(made: TextTable) -> str:
    """Write a table of the package, without its title and notes."""
    return _rows(made.to_markdown())


def table_printed(command: str) -> Callable[[], str]:
    """A block with the table that a command prints."""
    return lambda: _rows(printed(command))


def some_columns(command: str, names: Sequence[str]) -> str:
    """Some columns of the table that a command prints; numbers stay in one line."""
    lines = [[cell.strip() for cell in line.strip("|").split("|")] for line in _rows(printed(command)).splitlines()]
    head, _, *rows = lines
    chosen = [head.index(name) for name in names]
    return table(names, [[row[index].replace(" ", "\N{NO-BREAK SPACE}") for index in chosen] for row in rows])


def _rows(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if line.startswith("|"))
