"""Marks on the pages of the docs site for its style sheet: numbers stay in one line, long cells get some room."""

import re
from collections.abc import Iterator

from docutils import nodes

VALUE = r"[+−]?\d(?:[\d.,]*\d)?(?:e-?\d+)?[×‡†]?(?: %)?"
SPREAD = rf" ± {VALUE}"
INTERVAL = r" \[[^\]\s]+, [^\]\s]+\]"
COUNT = r" \(\d+\)[‡†]?"
UNIT = r" (?:GFLOP/s|GFLOP|GB|MiB|MB|KB|ms|s|h|M|points|steps)\b"
SINGLE = rf"{VALUE}(?:{SPREAD})?(?:{INTERVAL})?(?:{COUNT})?(?:{UNIT})?"
NUMBER = re.compile(rf"(?<![\w.])(?:[pτ] (?:= )?|±)?{SINGLE}(?:(?: / | to |–){SINGLE})?")
BREAKS_IN = re.compile(r"[ –]")  # where a browser may begin a new line
LONG = 60  # letters of a cell that is a sentence


def mark(doctree: nodes.document) -> None:
    """Give the numbers of a page the class `number`, and cells of tables that are sentences the class `sentence`."""
    for cell in doctree.findall(nodes.entry):
        if len(cell.astext()) > LONG:
            cell["classes"].append("sentence")
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
