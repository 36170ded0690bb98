"""Write the report of a run group: one HTML file that needs no other, in light and dark.

Its only script sorts the table of runs; the page's security policy names this script by its hash and allows no other.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jinja2
import matplotlib
from markupsafe import Markup

from lra.files import replace_text
from lra.results.headline import Headline
from lra.results.runs_table import RUN_COLUMNS, RunLine
from lra.results.tables import TextTable
from lra.results.text import visible_lines

TEMPLATE = Path(__file__).with_name("report.html")
SCRIPT = Path(__file__).with_name("report.js")
INK = "#808890"  # colour of text and lines in figures, readable on a light and on a dark page


@dataclass(frozen=True, kw_only=True)
class Part:
    """A task's part of a section, or what comes before the tasks.

    Attributes:
        name: the heading; empty for no heading.
        tables: the tables, in order.
        figures: for each figure what it shows, and its SVG text; below the tables.
    """

    name: str = ""
    tables: list[TextTable] = field(default_factory=list)
    figures: dict[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.tables and not self.figures


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of the page, with its parts; `name` is the heading."""

    name: str
    parts: list[Part]

    @property
    def id(self) -> str:
        """The anchor of the section."""
        return re.sub(r"\W+", "-", self.name.lower()).strip("-")


@dataclass(frozen=True, kw_only=True)
class Sample:
    """Examples of a task, as lines of text or as a PNG in base64."""

    task: str
    note: str
    texts: list[str] = field(default_factory=list)
    image: str = ""


def write_report(
    path: Path,
    *,
    title: str,
    subtitle: str,
    headline: Headline,
    sections: list[Section],
    runs: list[RunLine],
    samples: list[Sample],
    troubles: list[str],
) -> Path:
    """Write the page atomically, and return its path; texts are escaped, only figures and our script are markup."""
    environment = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, finalize=_printable)
    environment.filters["breakable"] = _breakable
    page = environment.from_string(TEMPLATE.read_text())
    script = f"\n{SCRIPT.read_text()}"
    text = page.render(
        title=title,
        subtitle=subtitle,
        headline=headline,
        sections=sections,
        run_columns=RUN_COLUMNS,
        runs=runs,
        samples=samples,
        troubles=troubles,
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, text)
    return path


def _printable(value: object) -> object:
    """Spell out control characters in a template's text; `Markup`, such as a figure, stays as it is."""
    return visible_lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _breakable(name: str) -> Markup:
    """Allow a line to end after the signs that join words, so that a narrow column does not split a word."""
    parts = re.split(r"(?<=[_=.,/])", visible_lines(name))
    return Markup("<wbr>").join(parts)


def svg(draw: Callable[[Path], Path]) -> str:
    """Draw a figure with `draw`, and return it as SVG text with colours for a light and a dark page."""
    with TemporaryDirectory() as folder, _page_colours():
        text = draw(Path(folder) / "figure.svg").read_text()
    return text[text.index("<svg") :]


@contextmanager
def _page_colours() -> Iterator[None]:
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "grid.color")
    clear = ("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor")
    settings: Any = {name: INK for name in inked} | {name: "none" for name in clear}
    with matplotlib.rc_context({**settings, "svg.hashsalt": "lra", "legend.edgecolor": INK}):
        yield
