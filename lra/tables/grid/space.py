"""The space of a search, options with an interval in place of a value, and the points that are drawn from it.

The points are independent draws (random search, Bergstra and Bengio 2012, JMLR 13), because the expected best of n
trials is defined for such. They depend on the space and its seed alone, so trial k of every method has the same point,
and the first trials of a larger budget are those of a smaller one. Python keeps the numbers of `random.Random(seed)`
the same in all versions, which numpy and Optuna do not promise.
"""

import math
import random
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from lra.base.overrides import Overrides
from lra.base.printed_commands import shell_word
from lra.runs.settings_hash import hash_of
from lra.settings.override_values import TIMES, drawn_from
from lra.settings.run_config import RunConfig
from lra.types import UserError

DRAWN = "drawn"  # tag of choices that are drawn from; those without a tag multiply the runs
LOG = "log"  # tag of intervals: uniform in the logarithm
DIGITS = 3  # significant digits of a number that is drawn, at least
Point = Mapping[str, float | str]


@dataclass(frozen=True)
class Space:
    """Options by key, each with what it is drawn from, as Hydra writes it: `tag(log, interval(1e-4, 1e-2))`."""

    options: Mapping[str, str]
    seed: int

    @property
    def hash(self) -> str:
        """Hash of the options and the seed: spaces with the same hash have the same points."""
        return hash_of({"options": {**self.options}, "seed": self.seed})

    @cached_property
    def _axes(self) -> dict[str, "_Axis"]:
        return {key: _Axis(key, self.options[key]) for key in sorted(self.options)}

    def points(self, count: int) -> list[Point]:
        """Draw the first `count` points; a factor of a run's value is not multiplied yet.

        Raises:
            UserError: for what is no interval to draw from.
        """
        generator, axes = random.Random(self.seed), self._axes.items()
        return [{key: axis.value(generator.random()) for key, axis in axes} for _ in range(count)]

    def overrides(self, point: Point, cfg: RunConfig) -> Overrides:
        """Write a point as overrides of a run, whose configuration without them is `cfg`."""
        overrides = []
        for key, value in point.items():
            axis = self._axes[key]
            if TIMES in axis.tags:
                value = _rounded(float(value) * cfg.value(key), axis.digits)
            overrides.append(f"{key}={value}")
        return Overrides(overrides)


class _Axis:
    """What the value of one option is drawn from: choices, or all numbers between two ends."""

    def __init__(self, key: str, typed: str):
        drawn = drawn_from(f"{key}={typed}")
        self.tags = drawn.tags
        self.digits = DIGITS
        unknown = self.tags - {LOG, TIMES, DRAWN}
        if unknown:
            line = f"{key}={typed}: the tag {min(unknown)} is not known; there are {LOG}, {TIMES} and {DRAWN}"
            raise UserError(line, kind="wrong_value", key=key, value=min(unknown))
        self._choices = drawn.choices
        if drawn.ends is None:
            return
        low, high = drawn.ends
        if not low < high or not (low > 0 or LOG not in self.tags) or not math.isfinite(high - low):
            right = f"{key}=tag({LOG}, interval(1e-4, 1e-2))"
            line = f"{key}={typed} is no interval to draw from: it has two ends, the lower one first"
            line += f", and with {LOG} above 0; type for example {shell_word(right)}"
            raise UserError(line, kind="wrong_value", key=key, value=typed, right=right)
        self._whole = isinstance(low, int) and isinstance(high, int)
        beyond = 0.5 if self._whole else 0.0  # so that each whole number has its share
        self._low, self._high = float(low) - beyond, float(high) + beyond
        narrow = math.ceil(-math.log10((high - low) / max(abs(low), abs(high))))
        self.digits = max(DIGITS, DIGITS - 1 + narrow)

    def value(self, uniform: float) -> float | str:
        """Choose the value that a number in [0, 1) stands for."""
        if self._choices:
            return self._choices[int(uniform * len(self._choices))]
        value: float
        if LOG in self.tags:
            value = self._low * (self._high / self._low) ** uniform
        else:
            value = self._low + (self._high - self._low) * uniform
        return round(value) if self._whole else min(max(_rounded(value, self.digits), self._low), self._high)


def _rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits}g}")
