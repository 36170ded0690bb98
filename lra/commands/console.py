"""The console that commands print to, and how they word sizes."""

from __future__ import annotations

from rich.console import Console

PIPE_WIDTH = 120  # of tables, where there is no terminal to ask


def make_console() -> Console:
    """Standard output; colours and bars only on a terminal (or with FORCE_COLOR=1)."""
    console = Console(highlight=False, soft_wrap=True)
    if not console.is_terminal:
        console.width = PIPE_WIDTH
    return console


def size_text(count: float) -> str:
    """Bytes in readable units."""
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024
    raise AssertionError
