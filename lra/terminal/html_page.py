"""Make an HTML page that needs no other file, in light and dark: its sections, tables and figures.

The page's security policy allows no script but the one that is given, which it names by its hash.
"""

import base64
import hashlib
import re
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import jinja2
import matplotlib
from markupsafe import Markup, escape

from lra.base.files import replace_text
from lra.base.text import visible_lines
from lra.terminal.display_names import TASK, display_name
from lra.terminal.figure_file import Drawn
from lra.terminal.figure_style import GREY, INK, PALETTE, QUIET
from lra.terminal.text_table import TextTable

PAGE = Path(__file__).with_name("page.html")
SHOWN_NOTES = 3  # below a table; more are folded
REM_FOR_AN_INCH = 8.2  # letters of 8 points are as large as the text of the page
FIGURE_COLOURS = dict(  # colours of figures on a light page, and what they are on a dark one
    zip(
        dict.fromkeys((INK, QUIET, GREY, *PALETTE)),
        ("#e6edf3", "#9198a1", "#5c646d", "#6cb6ff", "#ff9466", "#4cc9a6", "#e79ad0", "#d4b13f", "#b3b8ff", "#ff8fa8"),
        strict=True,
    )
)
METADATA = re.compile(r"<metadata>.*?</metadata>|<style type=.*?</style>", re.DOTALL)
FONTS = re.compile(r"font-family: [^;\"]*; ?")  # the page has them once, for all figures
NO_ROTATION = re.compile(r' transform="rotate\(0 [^)]*\)"')
PLACES = re.compile(r'\b(?P<name>d|x|y|width|height)="(?P<value>[^"]*)"')
DECIMALS = re.compile(r"-?\d+\.\d+(?!\d*e)")
AROUND_COMMANDS = re.compile(r"\s*([A-Zlmz])\s*")  # of a path
BETWEEN_TAGS = re.compile(r">\s+<")
GROUP_OF_ONE = re.compile(r"<g>(?P<part><(?:path|use)[^>]*/>|<text[^>]*>[^<]*</text>|<g [^>]*><use[^>]*/></g>)</g>")
NO_BREAK = "\N{NO-BREAK SPACE}"
CLIPPED_ALIKE = re.compile(r'(?P<start><g clip-path="[^"]*">)<use[^>]*/></g>(?:(?P=start)<use[^>]*/></g>)+')
STYLE = re.compile(r' style="([^"]*)"')
GROUP_OF_USES = re.compile(r"<g(?P<attributes>[^>]*)>(?P<uses>(?:<use[^>]*/>){2,})</g>")
GRID = matplotlib.rcParamsDefault["grid.color"]
GRID_LINE = re.compile(rf'(<path d="[^"]*") clip-path="[^"]*"(?= style="[^"]*stroke: {GRID})')  # it ends at the axes
ID = re.compile(r'(?:(?<= id=")|(?<=href="#)|(?<=url\(#))[mp][0-9a-f]{10}\b')  # those of equal parts are equal


@dataclass(frozen=True, kw_only=True)
class PageFigure:
    """A figure of a page: its SVG text, and what stands below it."""

    svg: str
    caption: str


@dataclass(frozen=True, kw_only=True)
class PageForm:
    """The form of a page.

    Attributes:
        template: a file that extends the `page.html` of this folder, or that itself.
        script: the file with the only script of the page; None for a page without.
        row_name: what a table shows for the text of its first column; None: the text.
        worded: what the page shows for a note.
    """

    template: Path = PAGE
    script: Path | None = None
    row_name: Callable[[str], str] | None = None
    worded: Callable[[str], str] = str


@dataclass(frozen=True, kw_only=True)
class Part:
    """A part of a section, such as that of a task: paragraphs, tables, and figures by what they show.

    Without a name it has no heading.

    Attributes:
        panels: markup of many small figures by what they show; they take the width of the page, and are folded.
    """

    name: str = ""
    texts: list[str] = field(default_factory=list)
    tables: list[TextTable] = field(default_factory=list)
    figures: dict[str, PageFigure] = field(default_factory=dict)
    panels: dict[str, Markup] = field(default_factory=dict)

    @property
    def id(self) -> str:
        """The anchor of the part, in that of its section."""
        return _anchor(self.name)

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show."""
        return not self.texts and not self.tables and not self.figures and not self.panels


@dataclass(frozen=True, kw_only=True)
class Section:
    """A section of the page, with its parts; `name` is the heading."""

    name: str
    parts: list[Part]

    @property
    def id(self) -> str:
        """The anchor of the section."""
        return _anchor(self.name)


def _anchor(name: str) -> str:
    return re.sub(r"\W+", "-", name.lower()).strip("-")


def notes_once(sections: list[Section]) -> tuple[list[Section], list[str]]:
    """Take notes that several tables share out of them: return the sections without these, and the notes."""
    tables = [table for section in sections for part in section.parts for table in part.tables]
    counts = Counter(note for table in tables for note in table.notes)

    def alone(table: TextTable) -> TextTable:
        return replace(table, notes=[note for note in table.notes if counts[note] == 1])

    rest = [
        replace(section, parts=[replace(part, tables=list(map(alone, part.tables))) for part in section.parts])
        for section in sections
    ]
    return rest, [note for note, count in counts.items() if count > 1]


def _styles_once(sections: list[Section]) -> tuple[list[Section], dict[str, str]]:
    """Give all figures classes for styles, and short ids: return the sections, and the class of each style."""
    classes: dict[str, str] = {}
    ids: dict[str, str] = {}

    def shortened(figure: PageFigure) -> PageFigure:
        svg = STYLE.sub(lambda found: f' class="{classes.setdefault(found[1], f"s{len(classes)}")}"', figure.svg)
        return replace(figure, svg=ID.sub(lambda found: ids.setdefault(found.group(), f"p{len(ids)}"), svg))

    def shortened_part(part: Part) -> Part:
        return replace(part, figures={what: shortened(figure) for what, figure in part.figures.items()})

    return [replace(section, parts=list(map(shortened_part, section.parts))) for section in sections], classes


def write_page(
    path: Path,
    *,
    title: str,
    subtitle: str,
    sections: list[Section],
    problems: list[str],
    form: PageForm = PageForm(),
    **more: Any,
) -> Path:
    """Write a page atomically, and return its path; texts are escaped, only figures and the script are markup.

    Args:
        problems: warnings at the top; more than three are folded.
        form: the form of the page.
        more: what the template of the form needs besides.
    """
    folders = [PAGE.parent, form.template.parent]
    code = f"\n{form.script.read_text()}" if form.script else ""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders), autoescape=True, undefined=jinja2.StrictUndefined, finalize=_printable
    )
    environment.filters |= {
        "breakable": breakable,
        "display": display_name,
        "display_task": partial(display_name, of=TASK),
        "whole_intervals": with_whole_intervals,
        "row_name": form.row_name or breakable,
        "worded": form.worded,
    }
    sections, classes = _styles_once(sections)
    text = environment.get_template(form.template.name).render(
        title=title,
        subtitle=subtitle,
        sections=sections,
        problems=problems,
        figure_colours=FIGURE_COLOURS,
        figure_classes=classes,
        shown_notes=SHOWN_NOTES,
        script=Markup(code),
        script_hash=base64.b64encode(hashlib.sha256(code.encode()).digest()).decode(),
        **more,
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    replace_text(path, text)
    return path


def _printable(value: object) -> object:
    """Spell out control characters in a template's text; `Markup`, such as a figure, stays as it is."""
    return visible_lines(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def breakable(name: str) -> Markup:
    """Allow a line to end after the signs that join words, so that a narrow column does not split a word or number."""
    parts = re.split(r"(?<=[=,/])|(?<=\.)(?!\d)", visible_lines(name))
    return Markup("<wbr>").join(parts)


def with_whole_intervals(text: str) -> Markup:
    """Keep an interval in one line, also where its cell is as narrow as on paper."""
    whole = re.sub(r"\[[^][]*\]", lambda found: found[0].replace(" ", NO_BREAK), visible_lines(text))
    return Markup(escape(whole))


def row_with_display_name(row: str) -> Markup:
    """Write a row's name: the display name, with what is typed as its tooltip; what sets the row apart is smaller."""
    display, bracket, settings = display_name(row).partition(" (")
    typed = row.partition(" (")[0]
    tooltip = Markup(' title="{}"').format(visible_lines(typed)) if typed != display else ""
    name = Markup("<span{}>{}</span>").format(tooltip, breakable(display))
    return name + Markup(" <small>{}</small>").format(breakable(f"({settings}")) if bracket else name


def page_figure(draw: Callable[[Path], Drawn]) -> PageFigure:
    """Draw a figure with `draw`, as SVG text whose colours follow the page's, light or dark, with its caption."""
    clear = ("figure.facecolor", "axes.facecolor", "savefig.facecolor", "legend.facecolor")
    settings: Any = dict.fromkeys(clear, "none") | {"svg.fonttype": "none", "svg.hashsalt": "lra"}
    with TemporaryDirectory() as folder, matplotlib.rc_context(settings):
        drawn = draw(Path(folder) / "figure.svg")
        text = drawn.path.read_text("utf-8")
    known = re.compile("|".join(FIGURE_COLOURS))
    coloured = known.sub(lambda colour: f"var(--c{colour.group()[1:]})", text[text.index("<svg") :])
    size = re.search(r'width="([\d.]+)pt" height="[\d.]+pt"', coloured)
    assert size is not None
    sized = coloured.replace(size[0], f'width="{float(size[1]) / 72 * REM_FOR_AN_INCH:.1f}rem"', 1)
    return PageFigure(svg=compact_svg(sized), caption=drawn.caption)


def compact_svg(text: str) -> str:
    """Shorten a figure of matplotlib to a half; what it shows is the same, to a hundredth of a point.

    It has no metadata and no groups of one part; marks of one style are in a group that has it.
    """
    text = METADATA.sub("", text).replace("xlink:href", "href").replace("rotate(-0 ", "rotate(0 ")
    text = NO_ROTATION.sub("", FONTS.sub("", text))
    text = PLACES.sub(lambda found: f'{found["name"]}="{_short_place(found["value"])}"', text)
    text = GROUP_OF_ONE.sub(r"\g<part>", BETWEEN_TAGS.sub("><", text))
    text = CLIPPED_ALIKE.sub(lambda run: _one_group(run.group(), run["start"]), text)
    return GROUP_OF_USES.sub(_style_once, GRID_LINE.sub(r"\1", text))


def _one_group(run: str, start: str) -> str:
    """Put into one group what groups with the same start hold, one after another."""
    return f"{start}{run.replace(start, '').replace('</g>', '')}</g>"


def _style_once(group: re.Match[str]) -> str:
    """Give the style of marks to their group, if it has none and theirs are equal and inherited by what is in it."""
    styles = STYLE.findall(group["uses"])
    equal = len(styles) == group["uses"].count("<use") and len(set(styles)) == 1
    if not equal or STYLE.search(group["attributes"]) or re.search(r"(?<!-)\bopacity:", styles[0]):
        return group.group()
    return f'<g{group["attributes"]} style="{styles[0]}">{STYLE.sub("", group["uses"])}</g>'


def _short_place(value: str) -> str:
    """Round the numbers of an attribute, and leave out blanks that SVG does not need."""
    rounded = DECIMALS.sub(lambda number: f"{float(number.group()):.2f}".rstrip("0").rstrip("."), value)
    return AROUND_COMMANDS.sub(r"\1", rounded).strip()
