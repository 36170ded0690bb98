"""Write the report of a run group: one HTML file without scripts or links to other files, in light and dark."""

from __future__ import annotations

import json
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
from lra.results.collect import describe
from lra.results.schema import Record
from lra.results.tables import TextTable
from lra.results.text import visible_lines

TEMPLATE = Path(__file__).with_name("report.html")
INK = "#808890"  # colour of text and lines in figures, readable on a light and on a dark page


@dataclass(frozen=True, kw_only=True)
class Section:
    """A part of the page.

    Attributes:
        name: the heading.
        tables: the tables, in order.
        figures: SVG texts, shown below the tables.
    """

    name: str
    tables: list[TextTable] = field(default_factory=list)
    figures: list[str] = field(default_factory=list)

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
    sections: list[Section],
    records: list[Record],
    samples: list[Sample],
    troubles: list[str],
) -> Path:
    """Write the page atomically, and return its path; all texts are escaped, only figures are inserted as markup."""
    page = jinja2.Environment(autoescape=True, undefined=jinja2.StrictUndefined, finalize=_printable).from_string(
        TEMPLATE.read_text()
    )
    runs = [
        {
            "name": describe(record),
            "accuracy": f"{record['outcome']['test_accuracy']:.2%}",
            "record": json.dumps(_readable(record), indent=2),
        }
        for record in records
    ]
    path.parent.mkdir(parents=True, exist_ok=True)
    text = page.render(title=title, subtitle=subtitle, sections=sections, runs=runs, samples=samples, troubles=troubles)
    replace_text(path, text)
    return path


def _printable(value: object) -> object:
    """Spell out control characters in a template's text; `Markup`, such as a figure, stays as it is."""
    return visible_lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _readable(record: Record) -> dict[str, object]:
    """Copy a record without the field that only programs can read."""
    outcome = {key: value for key, value in record["outcome"].items() if key != "test_correct"}
    return {**dict(record), "outcome": outcome}


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
