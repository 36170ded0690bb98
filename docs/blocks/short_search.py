"""Blocks on the search over rates, warm-ups and steps of the short recipes."""

import functools
from collections.abc import Mapping
from typing import Any, NamedTuple

from docs.blocks.markdown import table
from docs.blocks.published import records
from lra.settings.compose import load_config

FILES = ("short_search", "short_table", "short_longer")  # the tables' own runs are those at the chosen rate


class Point(NamedTuple):
    """A learning rate (None: the chosen one), a warm-up, and the steps as a multiple of the chosen ones."""

    rate: float | None
    warmup: float = 0.1
    steps: float = 1.0


RATES = {"5e-4": Point(5e-4), "1e-3": Point(1e-3), "2e-3": Point(2e-3)}
SCHEDULES = {
    "warm-up 5 %": Point(None, warmup=0.05),
    "10 %, as chosen": Point(None),
    "20 %": Point(None, warmup=0.2),
    "half the steps": Point(None, steps=0.5),
    "twice the steps": Point(None, steps=2),
}


@functools.cache
def _chosen(task: str) -> tuple[float, int]:
    """The rate and the steps of a task's short recipe."""
    recipe = load_config("train", ["size=short", f"task={task}"]).recipe
    return recipe.optimizer.lr, recipe.steps


def _search(points: dict[str, Point]) -> str:
    """Best dev accuracies of seed 0 at points beside the chosen recipe, where all are there."""
    found: dict[tuple[str, str], dict[Point, str]] = {}
    for record in records(*FILES):
        identity = record.identity
        recipe: Mapping[str, Any] = record.settings["recipe"]
        rate, steps = _chosen(identity["task"])
        if identity["seed"] == 0:
            point = Point(recipe["optimizer"]["lr"], recipe["warmup_fraction"], recipe["steps"] / steps)
            same_rate = point.rate == rate
            of_point = found.setdefault((identity["task"], identity["attention"]), {})
            accuracy = f"{100 * record.best_dev_accuracy:.2f}"
            of_point |= {point: accuracy} | ({point._replace(rate=None): accuracy} if same_rate else {})
    rows = [
        (task, name, *(of[point] for point in points.values()))
        for (task, name), of in sorted(found.items())
        if set(points.values()) <= of.keys()
    ]
    return table(("task", "attention", *points), rows)


def rates() -> str:
    """The rates."""
    return _search(RATES)


def schedules() -> str:
    """The warm-ups and the steps."""
    return _search(SCHEDULES)
