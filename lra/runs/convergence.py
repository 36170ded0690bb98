"""The one rule by which a run counts as converged, in tables, figures, sweeps and documents, and what follows from it.

Each run begins on a plateau, where it guesses the majority class or little more, and may not leave it. Seeds of one row
that end on both sides are no draws around their mean: such a row has the median and the range.
"""

import statistics
from collections.abc import Iterable, Sequence

from lra.base.spread import binomial_error, sample_std
from lra.base.text import mean_and_std
from lra.runs.schema import DevCurve, Record

STANDARD_ERRORS = 3  # above the majority class

# Accuracy that a run needs, beside being clear of the majority class, by task and size; another size of the task has
# that of `full`. Each lies in the widest gap between the runs that stay on the plateau and those that leave it:
#   listops     Published runs of size=full end at 18.15 to 18.80 % or at 36.50 to 38.00 %, other labs' up to 19.56 % or
#               from 35.63 % on. Models that mix no tokens are clear of the majority class too: at size=short they reach
#               20 %, without feed-forward networks (protocol=s4) 23 %. Short runs have no such gap, because some end
#               while they rise: they have the threshold of the full ones.
#   pathfinder  Published runs of size=short end at 49.45 to 69.33 % or at 84.80 to 95.35 %: the middle of this gap. Of
#               size=full there are only other labs' accuracies: from 60.93 % on, or at chance, 50 %.
CONVERGED_FROM: dict[str, dict[str, float]] = {
    "listops": {"full": 0.25},
    "pathfinder": {"full": 0.55, "short": 0.77},
}


def least_accuracy(task: str, size: str) -> float:
    """The accuracy in [0, 1] from which on a run may count as converged; 0 where the other condition is enough."""
    of_task = CONVERGED_FROM.get(task, {})
    return of_task.get(size, of_task.get("full", 0.0))


def is_converged(accuracy: float, majority_rate: float, examples: int, *, least: float = 0.0) -> bool:
    """Tell whether an accuracy is at least `least`, and more than three standard errors above the majority class's.

    The standard error is that of a test of `examples` examples by a model that guesses the majority class. Accuracies
    are fractions in [0, 1].
    """
    clear = accuracy - majority_rate > STANDARD_ERRORS * binomial_error(majority_rate, examples)
    return clear and accuracy >= least


def converged(record: Record) -> bool:
    """Tell whether a run converged: by its test accuracy, which is that of its best checkpoint by dev accuracy."""
    outcome = record.outcome
    least = _least(record)
    return is_converged(outcome["test_accuracy"], outcome["majority_rate"], outcome["test_examples"], least=least)


def dev_converged(accuracy: float, like: Record) -> bool:
    """Tell whether a dev accuracy in [0, 1] is one of a converged run of the task, size and data of a record.

    The rate of the majority class is that of the test split; the record has `dev_examples`.
    """
    outcome = like.outcome
    return is_converged(accuracy, outcome["majority_rate"], outcome["dev_examples"], least=_least(like))


def has_judged_curve(record: Record) -> bool:
    """Tell whether a record has a dev curve, and the number of dev examples that says which passes are converged."""
    return {"dev_curve", "dev_examples"} <= record.outcome.keys()


def convergence_step(record: Record) -> int | None:
    """The step at which a run that converged did so, see `step_of_curve`.

    Where the test accuracy alone is above the rule's threshold, and no dev accuracy is, it is that of the best pass.

    Returns:
        None for a run that did not converge, and for a record without `dev_curve` or `dev_examples`.
    """
    if not has_judged_curve(record) or not converged(record):
        return None
    curve = record.outcome["dev_curve"]
    step = step_of_curve(curve, record)
    return curve["step"][_best(curve)] if step is None and curve["step"] else step


def step_of_curve(curve: DevCurve, like: Record) -> int | None:
    """The first dev pass from which on all are converged, up to the best one, whose weights are kept and tested.

    `like` is a record of the same task, size and data: its own, or, of a run that is not finished, another seed's.

    Returns:
        None if the best pass so far is not converged.
    """
    since = None
    for step, accuracy in zip(curve["step"], curve["accuracy"][: _best(curve) + 1], strict=False):
        if not dev_converged(accuracy, like):
            since = None
        elif since is None:
            since = step
    return since


def _best(curve: DevCurve) -> int:
    """The place of the highest accuracy of a curve, the first of equals; -1 without any pass."""
    accuracies = curve["accuracy"]
    return accuracies.index(max(accuracies)) if accuracies else -1


def _least(record: Record) -> float:
    return least_accuracy(record.task, record.size)


def convergence_rule(records: Iterable[Record]) -> str:
    """Word when a run of the tasks and sizes of some records counts as converged."""
    kinds = dict.fromkeys((record.task, record.size) for record in records)
    several_sizes = len({size for _, size in kinds}) > 1
    least = {
        f"{task} (size={size})" if several_sizes else task: least_accuracy(task, size)
        for task, size in kinds
        if least_accuracy(task, size)
    }
    also = "".join(f", and on {where} at least {accuracy:.0%}" for where, accuracy in least.items())
    return f"test accuracy more than three standard errors above the majority class{also}".replace("%", " %")


def on_both_sides(converged_seeds: int, seeds: int) -> bool:
    """Tell whether some seeds of a row converged and others did not, so that their mean is near no seed."""
    return 0 < converged_seeds < seeds


def central_value(values: Sequence[float], converged_seeds: int) -> float:
    """The number that stands for the seeds of a row: their mean, or the median where only some converged."""
    mixed = on_both_sides(converged_seeds, len(values))
    return statistics.median(values) if mixed else statistics.fmean(values)


def seeds_text(values: Sequence[float], converged_seeds: int) -> str:
    """Write the values of a row's seeds: `37.00 ± 1.00`, or `36.85 [18.20, 37.75]` where only some converged."""
    central = central_value(values, converged_seeds)
    if on_both_sides(converged_seeds, len(values)):
        return f"{central:.2f} [{min(values):.2f}, {max(values):.2f}]"
    return mean_and_std(central, sample_std(values))
