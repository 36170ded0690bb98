"""The trials of a search: the best configuration of each method, the table of them, the expected best of n trials."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from lra.base.text import MISSING, number
from lra.tables.cells import TRIED, indices_of_best
from lra.tables.statistics.estimators import CONFIDENCE
from lra.terminal.text_table import TextTable

DRAWS = 4000  # of uniform order statistics


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A trial that has ended: the values that were drawn, and its best dev accuracy in [0, 1], or why it failed.

    Trials with the same `configuration` had the same settings.
    """

    number: int
    configuration: str
    point: Mapping[str, str]
    accuracy: float | None
    error: str | None = None


@dataclass(frozen=True, kw_only=True)
class Search:
    """The ended trials of one method on one task, in their order, of `budget` that are to be tried."""

    method: str
    task: str
    budget: int
    trials: Sequence[Trial]

    @property
    def best(self) -> Trial | None:
        """The trial with the highest dev accuracy, the first of equals; None if each failed."""
        scored = [trial for trial in self.trials if trial.accuracy is not None]
        return max(scored, key=lambda trial: (trial.accuracy, -trial.number), default=None)

    @property
    def failed(self) -> list[Trial]:
        """The trials without an accuracy."""
        return [trial for trial in self.trials if trial.accuracy is None]

    @property
    def tried(self) -> int:
        """Number of different configurations; of choices alone some may be drawn twice."""
        return len({trial.configuration for trial in self.trials})

    @property
    def accuracies(self) -> list[float]:
        """Dev accuracy of each trial; one that failed has 0."""
        return [trial.accuracy or 0.0 for trial in self.trials]


def tuning_table(searches: Sequence[Search], *, title: str, head: str, seed: int, space: str) -> TextTable:
    """Build the table of one task: a row for each method with its best configuration.

    `head` is that of the column of methods, `seed` that of the trials, `space` the hash of the space.
    """
    keys = sorted({key for search in searches for trial in search.trials for key in trial.point})
    short = {key: key.rpartition(".")[2] for key in keys}
    names = {key: name if list(short.values()).count(name) == 1 else key for key, name in short.items()}
    rows: list[list[str]] = []
    accuracies: list[float | None] = []
    csv_rows: list[dict[str, object]] = []
    for search in searches:
        best = search.best
        accuracy = None if best is None or best.accuracy is None else 100 * best.accuracy
        accuracies.append(accuracy)
        chosen = {key: best.point.get(key, MISSING) if best else MISSING for key in keys}
        ended = f"{len(search.trials)} of {search.budget}"
        if search.tried < len(search.trials):
            ended += f" ({search.tried} different)"
        rows.append([search.method, number(accuracy), *chosen.values(), ended, str(len(search.failed))])
        counts = {"budget": search.budget, "tried": search.tried, "failed": len(search.failed)}
        trial = {"trial": best.number if best else None, "best_dev_accuracy": accuracy}
        csv_rows.append({head: search.method, "task": search.task, **trial, **chosen, **counts})
    column = "best dev (%)"
    failures = [
        f"{search.method} trial {trial.number} failed, which counts: {trial.error}"
        for search in searches
        for trial in search.failed
    ]
    return TextTable(
        title=title,
        columns=(head, column, *names.values(), TRIED, "failed"),
        rows=rows,
        notes=[
            f"Best configuration of each method by dev accuracy alone (seed {seed}); all methods had the same points of"
            f" the space {space}.",
            *failures,
            f"Figure: expected best of n trials, and a {CONFIDENCE:.0%} lower bound; no number of trials bounds it from"
            " above, because a rare better point may not have been drawn.".replace("%", " %"),
        ],
        details=1,
        optional=("failed", *[names[key] for key in reversed(keys)]),
        best=frozenset((row, column) for row in indices_of_best(accuracies)),
        csv_rows=csv_rows,
    )


def expected_best(accuracies: Sequence[float] | np.ndarray) -> np.ndarray:
    """Estimate the expected best of n trials for n from 1 to the number N of trials, `[N]`.

    This is the expected maximum of n draws, with replacement, from the trials (Dodge et al. 2019, arXiv 1909.03004).
    It is exact where the trials are the whole distribution, and a little too low for n near N (Tang et al. 2020,
    arXiv 2004.13705).
    """
    expected: np.ndarray = np.sort(np.asarray(accuracies, float)) @ _weights(len(accuracies))
    return expected


def expected_best_lower_bounds(
    accuracies: Sequence[float] | np.ndarray, numbers: Sequence[int] | None = None
) -> np.ndarray:
    """Compute a lower confidence bound of the expected best of n trials, for each n of `numbers`, else from 1 to N.

    Each is for its n alone, at `CONFIDENCE`, and for any distribution of accuracies in [0, 1]: skewed, with many equal
    ones, or any other. There is no such upper bound of use: trials that come once in N may all have an accuracy of 1.

    The expected best is the integral over x in [0, 1] of 1 − F(x)ⁿ. Below the i-th smallest trial, F is at most the
    i-th of N uniform order statistics U. The bound is the (1 − CONFIDENCE)-quantile, over draws of U, of the integral
    with these values. It is that of Gaffke (2005, Mathematical Methods of Statistics 14) and of Learned-Miller and
    Thomas (2020, arXiv 1905.06208) for the mean, which is n = 1, and of two accuracies Clopper and Pearson's. That it
    holds for all distributions is not proven; a test simulates several.

    Args:
        accuracies: of the N trials, in [0, 1], `[N]`, or of several searches, `[..., N]`.
        numbers: in ascending order.

    Returns:
        `[..., numbers]`.
    """
    values = np.sort(np.asarray(accuracies, float), axis=-1)
    steps = np.diff(values, prepend=0.0, axis=-1)  # from the next smaller trial, or 0, to the i-th
    uniform, chosen, bounds = _uniform_order_statistics(values.shape[-1]), numbers, []
    if chosen is None:
        chosen = range(1, values.shape[-1] + 1)
    powers, exponent = np.ones_like(uniform), 0
    for number_of_trials in chosen:
        while exponent < number_of_trials:  # a product takes far less time than a power
            powers *= uniform
            exponent += 1
        bounds.append(np.quantile(steps @ (1 - powers).T, 1 - CONFIDENCE, axis=-1))
    return np.stack(bounds, axis=-1)


@functools.lru_cache(maxsize=1)  # megabytes
def _uniform_order_statistics(count: int) -> np.ndarray:
    """Draw `count` uniform numbers in order, `[DRAWS, count]`; the same ones each time."""
    return np.sort(np.random.default_rng(0).random((DRAWS, count)), axis=1)


def _weights(count: int) -> np.ndarray:
    """`[N, n]`: the probability that the i-th smallest of N values is the largest of n draws with replacement."""
    shares = (np.arange(count + 1) / count)[:, None] ** np.arange(1, count + 1)
    weights: np.ndarray = np.diff(shares, axis=0)
    return weights
