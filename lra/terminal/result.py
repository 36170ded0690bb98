"""What a verb hands back: what it has found or done, as values; the front door prints it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from lra.terminal.console import make_console

if TYPE_CHECKING:  # slow, and a verb may have nothing to print
    from rich.console import Console


class Result(Protocol):
    """The result of a verb; what it says on the way, such as its progress, is printed by then.

    One that sweepers search, as of a training, has its number as `objective`.
    """

    def show(self, console: Console) -> None:
        """Print it."""


def show_result(result: Result | float | None) -> float | None:
    """Print what a verb hands back; return the number for Hydra's sweepers, or what is one already."""
    if result is None or isinstance(result, int | float):
        return result
    result.show(make_console())
    return getattr(result, "objective", None)
