"""Blocks on the rule that calls differences significant: a worked example, its errors, and what its safety costs.

Letters: R rows, D draws.
"""

import math

import numpy as np
import scipy

from docs.blocks.markdown import interval, joined, percent, prose, table
from docs.blocks.published import cells, records
from docs.blocks.short_s4 import FILE
from lra.base.text import number
from lra.tables.comparison import compare_over_seeds, seeds_of_rows, verdict_over_seeds
from lra.tables.statistics.estimators import pooled_variance, student, welch
from lra.tables.statistics.margins import ALPHA, Margins, critical_value

DRAWS = 20_000
ROW, BASELINE = "s4d", "full"


def example() -> str:
    """The steps from the seeds of two rows to their verdict: the rule of each, and what it gives here."""
    found = cells([record for record in records(FILE) if record.task == "listops"])
    found = {name.partition(" (")[0]: cell for name, cell in found.items()}
    seeds = seeds_of_rows(found)
    row, baseline = seeds[ROW], seeds[BASELINE]
    over_seeds = compare_over_seeds(found, BASELINE)
    assert over_seeds is not None

    value, error, freedom = welch([(1, row), (-1, baseline)])
    margin_of_two = student(value, error, freedom).high - value
    variance, freedom_of_all = pooled_variance(list(seeds.values()))
    error_of_all = math.sqrt(variance * (1 / len(row) + 1 / len(baseline)))
    margin_of_all = student(value, error_of_all, freedom_of_all).high - value
    margin = max(margin_of_two, margin_of_all)
    margins = abs(value) / margin

    counts = [len(baseline), *(len(values) for name, values in seeds.items() if name != BASELINE)]
    of_table = critical_value(counts, has_baseline=True)
    of_two = critical_value([len(baseline), len(row)], has_baseline=True)
    assert margins < of_table, "the last step is about a difference that is not significant"

    steps = [
        (
            "**Take the rows that can be judged**: those of three seeds or more, of which all or none converged. Where"
            " only some seeds of a row converged, they have two values rather than a mean and a spread; the row has no"
            " verdict.",
            joined(f"`{name}`" for name in seeds),
        ),
        (
            "**Take the difference of the means.**",
            f"`{ROW}` {found[ROW]}, `{BASELINE}` {found[BASELINE]}: {number(value, sign=True)} points",
        ),
        (
            "**Compute its margin from these two rows alone**, half of a 95 % interval by Welch's *t*.",
            f"standard error {error:.2f}, {freedom:.2f} degrees of freedom: ±{margin_of_two:.2f}",
        ),
        (
            "**Compute its margin from all rows**, by Student's *t* with their mean variance. In this mean a row counts"
            " with at most five times the standard deviation of the median row.",
            f"standard error {error_of_all:.2f}, {freedom_of_all} degrees of freedom: ±{margin_of_all:.2f}",
        ),
        (
            "**Keep the wider margin**, and count the difference in margins.",
            f"{abs(value):.2f} / {margin:.2f}: {margins:.2f} margins",
        ),
        (
            "**Compare with *c***, the number of margins that by chance any of the rows is away with a probability of"
            " 5 %. It depends on the number of rows and on their seeds.",
            f"{len(seeds)} rows, one of them the baseline: *c* is {of_table:.2f}, more than {margins:.2f}, so not"
            f" significant. The probability of {margins:.2f} margins by chance is p = {over_seeds.p_values[ROW]:.2g}",
        ),
        (
            "**Write the interval** of these two rows, as if there were no others: their own margin times the *c* of"
            " two rows.",
            f"*c* is {of_two:.2f}: {interval(over_seeds.differences[ROW])}",
        ),
        (
            "**Say how many seeds would tell**, if it is not significant: from so many seeds of each row on, a true"
            " difference as large as the measured one, at the measured spreads, is significant with a probability of"
            " 80 %.",
            f"*{verdict_over_seeds(over_seeds, found, ROW, BASELINE)}*",
        ),
    ]
    return "\n\n".join(_step(place, rule, here) for place, (rule, here) in enumerate(steps, start=1))


def _step(place: int, rule: str, here: str) -> str:
    said = f"{prose(f'{place}. {rule}')}\n\n{prose(f'*Here:* {here}.')}"
    return said.replace("\n", "\n   ").replace("\n   \n", "\n\n")


def errors() -> str:
    """How often the rule, and one that trusts equal spreads, call anything significant where nothing differs."""
    rows = []
    for count in (2, 3, 4, 8, 17):
        patterns = {
            "equal": np.ones(count),
            "baseline five-fold": np.where(np.arange(count) == 0, 5.0, 1.0),
            "one other row five-fold": np.where(np.arange(count) == 1, 5.0, 1.0),
            "baseline twenty-fold": np.where(np.arange(count) == 0, 20.0, 1.0),
        }
        ours = {name: _of_the_rule(*_drawn(stds, 3), 3) for name, stds in patterns.items()}
        trusting = {name: _trusting(*_drawn(stds, 3), 3) for name, stds in patterns.items()}
        rates = [f"{ours[name].any(0).mean():.3f} / {trusting[name].any(0).mean():.3f}" for name in patterns]
        covered = min(_coverage(*_drawn(stds, 3), 3) for stds in patterns.values())
        rows.append((str(count), *rates, f"{covered:.3f}"))
    return table(("rows of three seeds", *patterns, "least coverage of an interval"), rows)


def power_lost() -> str:
    """How often both rules find one row that differs, where all rows spread alike."""
    rows = []
    for count in (2, 3, 17):
        for seeds in (3, 5, 8):
            powers = []
            for difference in (2.0, 3.0, 5.0):
                means, variances = _drawn(np.ones(count), seeds)
                means[1] += difference
                found = [rule(means, variances, seeds)[0].mean() for rule in (_of_the_rule, _trusting)]
                powers.append(" / ".join(percent(float(each)) for each in found))
            rows.append((str(count), str(seeds), *powers))
    return table(("rows", "seeds", *(f"{difference} standard deviations" for difference in (2, 3, 5))), rows)


def _drawn(stds_R: np.ndarray, seeds: int) -> tuple[np.ndarray, np.ndarray]:
    """Means and sample variances of rows without a difference, `[R, D]`."""
    rng, stds_R1 = np.random.default_rng(1), stds_R[:, None]
    means_RD = stds_R1 * rng.standard_normal((len(stds_R), DRAWS)) / np.sqrt(seeds)
    return means_RD, stds_R1**2 * rng.chisquare(seeds - 1, means_RD.shape) / (seeds - 1)


def _of_the_rule(means_RD: np.ndarray, variances_RD: np.ndarray, seeds: int) -> np.ndarray:
    """Whether each row but the first, the baseline, is significantly different from it."""
    counts = [seeds] * len(means_RD)
    margins, critical = Margins(variances_RD, counts), critical_value(counts, has_baseline=True)
    return np.stack(
        [np.abs(means_RD[row] - means_RD[0]) > critical * margins.between(row, 0) for row in range(1, len(means_RD))]
    )


def _trusting(means_RD: np.ndarray, variances_RD: np.ndarray, seeds: int) -> np.ndarray:
    """The same by one-way ANOVA, then t tests with the variance of all rows, at a false discovery rate of 5 %."""
    others, freedom = len(means_RD) - 1, len(means_RD) * (seeds - 1)
    variance_D = variances_RD.mean(0)
    least_ratio = scipy.special.fdtri(others, freedom, 1 - ALPHA)
    differs_D = seeds * means_RD.var(axis=0, ddof=1) / variance_D >= least_ratio
    t_RD = np.abs(means_RD[1:] - means_RD[0]) / np.sqrt(2 * variance_D / seeds)
    enough_R1 = scipy.special.stdtrit(freedom, 1 - ALPHA * np.arange(1, others + 1) / others / 2)[:, None]
    ordered_RD = -np.sort(-t_RD, axis=0)
    least_D = np.where(ordered_RD >= enough_R1, ordered_RD, np.inf).min(axis=0)  # Benjamini and Hochberg 1995
    found_RD: np.ndarray = differs_D & (t_RD >= least_D)
    return found_RD


def _coverage(means_RD: np.ndarray, variances_RD: np.ndarray, seeds: int) -> float:
    """How often the interval of a row has its difference; of the row where it does so least often."""
    pairs = [[0, row] for row in range(1, len(means_RD))]
    return min(float((~_of_the_rule(means_RD[pair], variances_RD[pair], seeds)).mean()) for pair in pairs)
