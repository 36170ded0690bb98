"""The files of figures: what is drawn, and the file that `figure=` names, after which further ones are named.

Nothing here imports matplotlib, which is slow: commands know what they draw before they draw it.
"""

from pathlib import Path
from typing import NamedTuple

from lra.base.printed_commands import override, shell_word
from lra.terminal.console import check_out, out_path
from lra.types import UserError

FORMATS = (".png", ".pdf", ".svg")


class Drawn(NamedTuple):
    """A figure that was saved.

    Attributes:
        path: the file; a PNG has a PDF and an SVG beside it.
        caption: what stands below it in a paper.
        left_out: a line for each panel or line that it might have, and why it has not.
    """

    path: Path
    caption: str
    left_out: tuple[str, ...] = ()


def check_figure(figure: str | None) -> None:
    """Refuse a wrong `figure=` before any run starts; None: nothing was typed.

    Raises:
        UserError: for an ending that is no format of a figure, and for what cannot be written.
    """
    if figure is None:
        return
    check_out(figure, "figure.pdf", key="figure")
    if Path(figure).suffix not in FORMATS:
        right = override("figure", Path(figure).with_suffix(".pdf"))
        known = ", ".join(FORMATS)
        line = f"{override('figure', figure)}: its ending is none of {known}; type for example {shell_word(right)}"
        raise UserError(line, kind="wrong_value", key="figure", value=figure, right=right)


def typed_figure(figure: str, *, is_first: bool, name: str, task: str) -> Path:
    """The file of one of several figures: the first one has the name that was typed, others `FIGURE-NAME.pdf`.

    With a task, of several, its name stands at the end.
    """
    path = out_path(figure)
    parts = [path.stem, "" if is_first else name, task]
    return path.with_name("-".join(filter(None, parts)) + path.suffix)
