"""Escape text from records, so that it is never markup or code on a terminal, in Markdown, CSV or figures.

Anybody may have written a record. `visible` spells out characters that are not printable: line ends, terminal codes,
changes of the writing direction, single surrogates. One function per format then escapes the format's own markup.
Terminals get `rich.text.Text`, which has no markup; the HTML template escapes by itself.
"""

from __future__ import annotations

import re
import unicodedata

FORMULA = re.compile(r"\s*[=+\-@]")  # text that a spreadsheet takes for a formula
MARKUP = re.compile(r"[\\`*|~$]|\](?=[(\[:])|(?<!\w)_|_(?!\w)")  # markup of GitHub's Markdown, such as links

LATEX = {
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
    **{sign: f"{{{sign}}}" for sign in "[]*-'"},  # so that they cannot belong to a command or a ligature
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "`": r"\textasciigrave{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''"},
    **{"±": r"$\pm$", "−": "$-$", "–": "--", "·": r"$\cdot$", "×": r"$\times$", "‖": r"$\|$"},
    **{"Δ": r"$\Delta$", "α": r"$\alpha$"},
    **{"†": r"$\dagger$", "‡": r"$\ddagger$", "§": r"\S{}", "…": r"\dots{}", "’": "'"},
}


def visible(text: str) -> str:
    """Spell out every character that is not printable, such as `\\n`, `\\x1b` or `\\u202e`; the result is one line."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in text)


def visible_lines(text: str) -> str:
    """Spell out characters that are not printable, as `visible` does, but keep line ends."""
    return "\n".join(visible(line) for line in text.split("\n"))


def for_markdown(text: str) -> str:
    """Escape text for Markdown: HTML and Markdown's markup."""
    plain = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return MARKUP.sub(lambda match: f"\\{match.group()}", plain)


def for_latex(text: str) -> str:
    """Escape text for LaTeX, whose files are UTF-8; a letter that not every LaTeX knows is its number, as U+4E2D."""
    plain = visible(text)
    start = r"\quad " if plain.startswith(" ") else ""  # LaTeX drops spaces
    return start + "".join(
        LATEX.get(sign) or (sign if _every_latex_knows(sign) else f"U+{ord(sign):04X}") for sign in plain.strip()
    )


def _every_latex_knows(sign: str) -> bool:
    """Tell whether a sign is ASCII, or such a letter with an accent that Latin-1 has, as ö."""
    return sign.isascii() or (sign < "Ā" and unicodedata.normalize("NFD", sign)[0].isascii())


def for_csv(value: object) -> object:
    """Escape a cell for CSV: put a quote before text that a spreadsheet would take for a formula."""
    if not isinstance(value, str) or not FORMULA.match(value) or _is_number(value):
        return value
    return f"'{value}"


def for_figure(text: str) -> str:
    """Escape text for matplotlib: its TeX, and a leading `_`, which would hide a name in legends."""
    return visible(text).replace("$", r"\$").lstrip("_")


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
