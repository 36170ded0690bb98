"""What `lra bench gpu` measures of its cells, the most important first, because its time is short."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

UnitKind = Literal["eager", "compiled", "parity", "together"]
FIRST = ("nystrom", "full")  # the method of the paper, and what it approximates
TITLES: dict[UnitKind, str] = {
    "eager": "eager steps",
    "compiled": "compiled steps",
    "parity": "parity with the CPU",
    "together": "processes side by side",
}


class Unit(NamedTuple):
    """One measurement of one cell, by its place among the cells."""

    kind: UnitKind
    place: int


def units(attentions: Sequence[str], *, compiled: bool, together: bool) -> list[Unit]:
    """Order the measurements.

    First Nyström and exact attention of all tasks: eager, parity, compiled, and the first cell in several processes.
    Then the same of the other attentions.

    Args:
        attentions: the attention of each cell.
        compiled: whether compiled steps are measured.
        together: whether several processes are measured, of the first cell in this order.
    """
    kinds: tuple[UnitKind, ...] = ("eager", "parity", "compiled") if compiled else ("eager", "parity")
    first = [place for name in FIRST for place, attention in enumerate(attentions) if attention == name]
    others = [place for place in range(len(attentions)) if place not in first]
    ordered = [Unit(kind, place) for places in (first, others) for kind in kinds for place in places]
    if together and ordered:
        ordered.insert(len(kinds) * len(first) or len(ordered), Unit("together", ordered[0].place))
    return ordered


class Budget:
    """The seconds of a command: a measurement is begun if the longest of its kind so far would end in time.

    Args:
        seconds: of the whole command.
    """

    def __init__(self, seconds: float):
        self.seconds = seconds
        self.spent = 0.0
        self._longest: dict[UnitKind, float] = {}

    def allows(self, kind: UnitKind) -> bool:
        """Tell whether one more measurement of this kind may begin."""
        return self.spent + self._longest.get(kind, 0.0) < self.seconds

    def spend(self, kind: UnitKind, seconds: float) -> None:
        """Note what a measurement took."""
        self.spent += seconds
        self._longest[kind] = max(seconds, self._longest.get(kind, 0.0))
