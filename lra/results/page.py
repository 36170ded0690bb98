"""Make an HTML page that needs no other file, in light and dark: its sections, tables and figures.

The page's security policy allows no script but the one that is given, which it names by its hash.
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

from lra.base.files import replace_text
from lra.base.text import visible_lines
from lra.results.tables import TextTable

INK = "#808890"  # colour of text and lines in figures, readable on a light and on a dark page


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a section, such as that of a task.

    Attributes:
        name: the heading; empty for no heading.
        texts: paragraphs, in order.
        tables: the tables, in order, below the texts.
        figures: for each figure what it shows, and its SVG text; below the tables.
    """

    name: str = ""
    texts: list[str] = field(default_factory=list)
    tables: list[TextTable] = field(default_factory=list)
    figures: dict[str, str] = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.texts and not self.tables and not self.figures


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of the page, with its parts; `name` is the heading."""

    name: str
    parts: list[Part]

    @property
    def id(self) -> str:
        """The anchor of the section."""
        return re.sub(r"\W+", "-", self.name.lower()).strip("-")


def write_page(
    path: Path,
    *,
    title: str,
    subtitle: str,
    sections: list[Section],
    troubles: list[str],
    template: str = "page.html",
    script: str = "",
    **more: Any,
) -> Path:
    """Write a page atomically, and return its path; texts are escaped, only figures and the script are markup.

    Args:
        path: the file.
        title, subtitle: above all else.
        sections: in order.
        troubles: warnings at the top; more than three are folded.
        template: a template in this folder that extends `page.html`, or this itself.
        script: the only script of the page; empty for none.
        more: what the template needs besides.
    """
    loader = jinja2.FileSystemLoader(Path(__file__).parent)
    environment = jinja2.Environment(
        loader=loader, autoescape=True, undefined=jinja2.StrictUndefined, finalize=_printable
    )
    environment.filters["breakable"] = breakable
    text = environment.get_template(template).render(
        title=title,
        subtitle=subtitle,
        sections=sections,
        troubles=troubles,
        script=Markup(script),
        script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        **more,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, text)
    return path


def _printable(value: object) -> object:
    """Spell out control characters in a template's text; `Markup`, such as a figure, stays as it is."""
    return visible_lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def breakable(name: str) -> Markup:
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
