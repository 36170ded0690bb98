"""Marks on the pages of the docs site for its style sheet: numbers stay in one line, long cells get some room."""

import re
from collections.abc import Iterator

from docutils import nodes

VALUE = r"[+−]?\d(?:[\d.,]*\d)?(?:e-?\d+)?[×‡†]?(?: %)?"
SPREAD = rf" ± {VALUE}"
INTERVAL = r" \[[^\]\s]+, [^\]\s]+\]"
COUNT = r" \(\d+\)[‡†]?"
UNIT = r" (?:GFLOP/s|GFLOP|GB|MiB|MB|KB|ms|s|h|M|points|steps|landmarks?)\b"
SINGLE = rf"{VALUE}(?:{SPREAD})?(?:{INTERVAL})?(?:{COUNT})?(?:{UNIT})?"
PAIR = r" / | \+ | × | → | to |–"
NUMBER = re.compile(rf"(?<![\w.])(?:[pτ] (?:= )?|±|– / )?{SINGLE}(?:(?:{PAIR}){SINGLE}){{0,2}}")
BREAKS_IN = re.compile(r"[ –-]")  # where a browser may begin a new line
LONG = 40  # letters of a cell that is a sentence
AFTER_UNDERSCORE = re.compile("(?<=_)")
LONG_NAME = re.compile(rf"\w{{{LONG},}}")  # of a test, as no option is


def mark(doctree: nodes.document) -> None:
    """Give the numbers of a page the class `number`, cells of tables that are sentences the class `sentence`.

    A name in a cell that is as long as a sentence may be broken behind each `_`.
    A table whose first column has no sentences has the class `named-rows`.
    """
    for cell in doctree.findall(nodes.entry):
        if len(cell.astext()) > LONG:
            cell["classes"].append("sentence")
        for name in cell.findall(nodes.literal):
            if LONG_NAME.fullmatch(name.astext()):
                words = AFTER_UNDERSCORE.split(name.astext())
                name[:] = [part for word in words for part in (nodes.Text(word), nodes.raw("", "<wbr>", format="html"))]
    for table in doctree.findall(nodes.table):
        if not any("sentence" in row[0]["classes"] for row in table.findall(nodes.row)):
            table["classes"].append("named-rows")
    for text in list(doctree.findall(nodes.Text)):
        parent = text.parent
        if isinstance(parent, nodes.paragraph | nodes.strong | nodes.emphasis | nodes.title):
            parent.replace(text, list(_marked(text.astext())))


def _marked(text: str) -> Iterator[nodes.Node]:
    at = 0
    for number in NUMBER.finditer(text):
        if BREAKS_IN.search(number[0]):
            yield from _plain(text[at : number.start()])
            yield nodes.inline("", number[0], classes=["number"])
            at = number.end()
    yield from _plain(text[at:])


def _plain(text: str) -> Iterator[nodes.Node]:
    if text:
        yield nodes.Text(text)
