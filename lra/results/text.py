"""Escaping: text from records, made safe for terminals, Markdown, CSV and figures; it is never markup or code.

What comes from a file may have been written by anybody. Signs that are not printable (ends of lines, terminal codes,
changes of the writing direction, half surrogates) are spelled out once, in `visible`; each form then escapes its own
markup in one function of its own. Terminals get `rich.text.Text`, which has no markup; HTML is escaped by its template.
"""

from __future__ import annotations

import re

FORMULA = re.compile(r"\s*[=+\-@]")  # how a spreadsheet recognises one; tabs and returns are spelled out before
MARKUP = re.compile(r"[\\`*|~$]|\](?=[(\[:])|(?<!\w)_|_(?!\w)")  # of GitHub's Markdown: no link, no `_` round a word


def visible(text: str) -> str:
    """The text in one line, with every sign that is not printable spelled out: `\\n`, `\\x1b`, `\\u202e`."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def visible_lines(text: str) -> str:
    """`visible`, but ends of lines stay."""
    return "\n".join(visible(line) for line in text.split("\n"))


def for_markdown(text: str) -> str:
    """Words for Markdown: no HTML, no markup."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return MARKUP.sub(lambda match: f"\\{match.group()}", plain)


def for_csv(value: object) -> object:
    """A cell for CSV: text that a spreadsheet would compute gets a quote in front, numbers stay as they are."""
    if not isinstance(value, str) or not FORMULA.match(value) or _is_number(value):
        return value
    return f"'{value}"


def for_figure(text: str) -> str:
    """Words for matplotlib, without its TeX; a name that begins with `_` would be left out of its legends."""
    return visible(text).replace("$", r"\$").lstrip("_")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
