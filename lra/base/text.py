"""Text for people: escaped, so that it is never markup or code; without passwords; durations and sizes.

Anybody may have written a record. `visible` spells out characters that are not printable: line ends, terminal codes,
changes of the writing direction, single surrogates. One function per format then escapes the format's own markup.
Terminals get `rich.text.Text`, which has no markup; the HTML template escapes by itself.
"""

import html
import re
import unicodedata
from typing import Any

FORMULA = re.compile(r"\s*[=+\-@]")  # text that a spreadsheet takes for a formula
MARKUP = re.compile(r"[\\`*|~$]|\](?=[(\[:])|(?<!\w)_|_(?!\w)")  # markup of GitHub's Markdown, such as links
LATEX = {
    **{sign: rf"\{sign}" for sign in "&%$#_{}"},
    **{sign: f"{{{sign}}}" for sign in "[]*-'"},  # so that they cannot belong to a command or a ligature
    **{"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "`": r"\textasciigrave{}"},
    **{"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''"},
    **{"±": r"$\pm$", "−": "$-$", "–": "--", "·": r"$\cdot$", "×": r"$\times$", "‖": r"$\|$"},
    **{"Δ": r"$\Delta$", "α": r"$\alpha$"},
    **{"†": r"$\dagger$", "‡": r"$\ddagger$", "§": r"\S{}", "¶": r"\P{}", "…": r"\dots{}", "’": "'"},
}
# What stands before the host: up to an `@`, or after a colon up to the last `@` of the word, for a password may hold
# any letter. `https://host:80/x@y` loses its host by that, which is the smaller harm.
CREDENTIALS = re.compile(r"(?<=://)(?:[^\s/?#@:]*:\S*|[^\s/?#]+)@")
HIDDEN = "***@"
MISSING = "–"  # in place of a number
SECONDS_UP_TO, MINUTES_UP_TO = 120, 7200  # seconds up to which a duration is in seconds, and in minutes
LEAST_HOURS = 0.1  # in a column; with two digits behind the point, less would say little or nothing


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
    return MARKUP.sub(r"\\\g<0>", html.escape(text, quote=False))


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
    if not isinstance(value, str) or not FORMULA.match(value) or is_float(value):
        return value
    return f"'{value}"


def for_figure(text: str) -> str:
    """Escape text for matplotlib: its TeX, and a leading `_`, which would hide a name in legends."""
    return visible(text).replace("$", r"\$").lstrip("_")


def is_float(text: str) -> bool:
    """Tell whether a text is a number as Python reads it, such as `1e-3` or `nan`."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def without_credentials(text: str) -> str:
    """Return a text in which `***` stands for the user name and password of every address."""
    return CREDENTIALS.sub(HIDDEN, text)


def all_without_credentials(value: Any) -> Any:
    """Return nested plain values, as of a configuration, with the texts among them as by `without_credentials`."""
    if isinstance(value, str):
        return without_credentials(value)
    if isinstance(value, dict):
        return {key: all_without_credentials(inner) for key, inner in value.items()}
    return [all_without_credentials(inner) for inner in value] if isinstance(value, list) else value


def clock_text(seconds: float) -> str:
    """Write seconds as `h:mm:ss`, for a line whose width does not change."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


def duration_text(seconds: float) -> str:
    """Word a duration in the unit that suits it, such as `48 s`, `35 min` or `3.2 hours`; never as `0.0 hours`."""
    if seconds < SECONDS_UP_TO:
        return f"{seconds:.2g} s" if seconds < 1 else f"{seconds:.0f} s"
    if seconds < MINUTES_UP_TO:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:,.1f} hours"


def time_text(seconds: float) -> str:
    """Write a duration for a cell of a table: `1.50 h`; one of a few minutes in its own unit, as `duration_text`."""
    hours = seconds / 3600
    if round(hours, 2) < LEAST_HOURS:
        return duration_text(seconds)
    return f"{number(hours, 2 if hours < 10 else 0)} h"


def size_text(count: float) -> str:
    """Word a number of bytes in a readable unit."""
    if count < 1024:
        return f"{count:.0f} B"
    for unit in ("KiB", "MiB"):
        count /= 1024
        if count < 1024:
            return f"{count:.1f} {unit}"
    return f"{count / 1024:.1f} GiB"


def number(value: float | None, digits: int = 2, *, sign: bool = False) -> str:
    """Write a number for a table, with a minus sign (−); a dash for None."""
    return MISSING if value is None else f"{value:{'+' if sign else ''}.{digits}f}".replace("-", "−")


def mean_and_std(mean: float | None, std: float | None) -> str:
    """Write a mean and the standard deviation, if there is one: `37.00 ± 1.00`; a dash without a mean."""
    return number(mean) if mean is None or std is None else f"{number(mean)} ± {number(std)}"
