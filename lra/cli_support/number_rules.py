"""Rules of what a number in a setting may be, with words for an error."""

from __future__ import annotations

import math
from dataclasses import dataclass

MOST_WHOLE = 2**31 - 1


@dataclass(frozen=True)
class Number:
    """The numbers that a setting may have.

    Attributes:
        kind: `int` or `float`.
        least: lower bound; the bound itself is not allowed if `above`.
        most: upper bound; the bound itself is not allowed if `below`. Infinity is never allowed.
        example: the value that an error suggests.
        null: whether the setting may be null.
        word: a word that the setting may have in place of a number.
    """

    kind: type
    least: float
    most: float
    example: float
    above: bool = False
    below: bool = False
    null: bool = False
    word: str | None = None

    def allows(self, value: object) -> bool:
        """Tell whether `value` is a number of this kind within the bounds."""
        if value is None or value == self.word:
            return self.null or value is not None
        if isinstance(value, bool) or not isinstance(value, int if self.kind is int else int | float):
            return False
        high_enough = value > self.least if self.above else value >= self.least
        low_enough = value < self.most if self.below else value <= self.most
        return math.isfinite(value) and high_enough and low_enough

    def __str__(self) -> str:
        return self._numbers() if self.word is None else f"{self._numbers()}, nor {self.word}"

    def _numbers(self) -> str:
        what = "a whole number" if self.kind is int else "a number"
        low = f"above {self.least:g}" if self.above else f"of at least {self.least:g}"
        if math.isinf(self.most) or self.most == MOST_WHOLE:
            return f"{what} {low}"
        return f"{what} {low} and {'below' if self.below else 'at most'} {as_typed(self.most)}"


def whole(
    example: int, *, least: int = 1, most: int = MOST_WHOLE, null: bool = False, word: str | None = None
) -> Number:
    """Make the rule of a count."""
    return Number(int, least, most, example, null=null, word=word)


def share(example: float, *, above: bool = False) -> Number:
    """Make the rule of a fraction: from 0, or above 0, to below 1."""
    return Number(float, 0, 1, example, above=above, below=True)


def real(example: float, *, above: bool = False) -> Number:
    """Make the rule of a finite number from 0 on, or above 0."""
    return Number(float, 0, math.inf, example, above=above)


def as_typed(value: object) -> str:
    """Write a value as a user types it."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
