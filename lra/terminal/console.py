"""The console that commands print to, and how sizes are worded."""

from __future__ import annotations

from rich.console import Console

PIPE_WIDTH = 120  # least width of output into a pipe, which has no width of its own


def make_console() -> Console:
    """Make a console for standard output; colours and progress bars only on a terminal (or with FORCE_COLOR=1).

    Markup is off, because names of folders and texts of records may contain brackets. Colours come from `style=` and
    from `rich.text.Text`.
    """
    console = Console(highlight=False, soft_wrap=True, markup=False)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def size_text(count: float) -> str:
    """Word a number of bytes in a readable unit."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError
