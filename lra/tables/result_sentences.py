"""What a comparison has found, in sentences: from the statistics of its verdicts, and never more than these say."""

from collections.abc import Sequence

from lra.base.text import number
from lra.tables.comparison import Contender, seeds_of_rows
from lra.tables.seeds_needed import enough_seeds, seeds_in_words
from lra.tables.statistics.estimators import Interval

MOST_INTERVALS = 3  # rows of a sentence that each have their own numbers; of more it has the smallest and the largest


def result_sentences(compared: Sequence[Contender]) -> list[str]:
    """Word what the rows of a comparison have to do with the first one, the baseline; nothing of one row alone.

    A row is called better or worse where its verdict is "significant". Else the sentence says that seeds cannot tell
    and how many would, that only some seeds converged, or that the test set of so few seeds is all that is known.
    """
    if len(compared) < 2:
        return []
    baseline, *others = compared
    decided = [row for row in others if row.significant]
    undecided = [row for row in others if row.significant is False]
    without_mean = [row for row in others if row.significant is None and row.said_over_seeds]
    few_seeds = [row for row in others if row.significant is None and not row.said_over_seeds]
    sentences = [
        _over_seeds(baseline, decided, undecided, compared),
        _partly_converged(baseline, without_mean),
        *_on_the_test_set(baseline, [row for row in few_seeds if row.over_examples is not None]),
        _not_compared(baseline, [row for row in few_seeds if row.over_examples is None]),
    ]
    return [sentence for sentence in sentences if sentence]


def _over_seeds(
    baseline: Contender, decided: Sequence[Contender], undecided: Sequence[Contender], compared: Sequence[Contender]
) -> str:
    """`s4d is better than nystrom by 5.20 points [1.60, 8.80]; full cannot be told from it with 3 seeds, 14 would.`"""
    intervals = {row.name: row.over_seeds for row in decided if row.over_seeds is not None}
    parts = _better_and_worse(intervals, baseline.name)
    if undecided:
        seeds = seeds_of_rows({row.name: row.cell for row in compared})
        enough = {row.name: enough_seeds(seeds, row.name, baseline.name) for row in undecided}
        counts = sorted({baseline.cell.count, *(row.cell.count for row in undecided)})
        known_name = "it" if parts else baseline.name
        parts.append(_cannot_be_told(enough, known_name, counts))
    return f"{'; '.join(parts)}." if parts else ""


def _better_and_worse(intervals: dict[str, Interval], baseline: str) -> list[str]:
    """Word which rows are better than the baseline, and which are worse, the largest difference first."""
    names = sorted(intervals, key=lambda name: -abs(intervals[name].difference))
    better = [name for name in names if intervals[name].difference > 0]
    worse = [name for name in names if intervals[name].difference < 0]
    parts = []
    if better:
        parts.append(_apart(better, intervals, f"better than {baseline}"))
    if worse:
        parts.append(_apart(worse, intervals, f"worse than {'it' if better else baseline}"))
    return parts


def _apart(names: Sequence[str], intervals: dict[str, Interval], how: str) -> str:
    """Word how far some rows are from the baseline, all on the same side of it."""
    if len(names) == 1:
        return f"{names[0]} is {how} by {size_in_words(intervals[names[0]])}"
    if len(names) <= MOST_INTERVALS:
        each = [f"{name}, by {size_in_words(intervals[name])}," for name in names]
        return f"{' '.join(each[:-1])} and {each[-1]} are {how}"
    sizes = [abs(intervals[name].difference) for name in names]
    return f"{listed(names)} are {how}, by {number(min(sizes))} to {number(max(sizes))} points"


def size_in_words(interval: Interval, digits: int = 2) -> str:
    """Write the size of a difference with its interval, on the side on which it lies: `5.20 points [1.60, 8.80]`."""
    low, high = interval.low, interval.high
    if interval.difference < 0:
        low, high = -high, -low
    size, low_text, high_text = (number(value, digits) for value in (abs(interval.difference), low, high))
    return f"{size} points [{low_text}, {high_text}]"


def _cannot_be_told(enough: dict[str, int | None], baseline: str, counts: Sequence[int]) -> str:
    """Word which rows so many seeds cannot tell from the baseline, and how many would."""
    how = f"cannot be told from {baseline} with {listed([str(count) for count in counts])} seeds"
    numbers = [seeds_in_words(count) for count in sorted(enough.values(), key=_infinity_last)]
    fewest_to_most = " to ".join(dict.fromkeys((numbers[0], numbers[-1])))
    return f"{listed(list(enough))} {how}, {fewest_to_most} would"


def _infinity_last(count: int | None) -> float:
    return float("inf") if count is None else count


def _partly_converged(baseline: Contender, rows: Sequence[Contender]) -> str:
    """Word which rows have no verdict because only some seeds of theirs, or of the baseline, converged."""
    if not rows:
        return ""
    if baseline.cell.partly_converged:
        converged = f"{baseline.cell.converged} of {baseline.cell.count}"
        names = listed([row.name for row in rows])
        return f"Only {converged} seeds of {baseline.name} converged, so there is no verdict over seeds on {names}."
    names = listed([row.name for row in rows])
    return f"Of {names} some seeds converged and others did not, so there is no verdict over seeds."


def _on_the_test_set(baseline: Contender, rows: Sequence[Contender]) -> list[str]:
    """Word what the test examples say of rows with too few seeds, and that this is of these trained models alone."""
    sentences = []
    for count in sorted({row.pairs for row in rows}):
        of_count = [row for row in rows if row.pairs == count]
        where = f"on the test set of {count} seed{'s' if count > 1 else ''}"
        intervals = {row.name: row.over_examples for row in of_count if row.over_examples is not None}
        apart = {name: interval for name, interval in intervals.items() if interval.significant}
        parts = _better_and_worse(apart, baseline.name)
        near = [name for name in intervals if name not in apart]
        if near:
            parts.append(f"{listed(near)} cannot be told from {'it' if parts else baseline.name}")
        sentences.append(f"Only {where}: {'; '.join(parts)}. Other seeds may differ.")
    return sentences


def _not_compared(baseline: Contender, rows: Sequence[Contender]) -> str:
    if not rows:
        return ""
    names = listed([row.name for row in rows])
    return f"Nothing is said of {names} beside {baseline.name}: too few seeds, and no test examples that both have."


def listed(texts: Sequence[str]) -> str:
    """List texts as a sentence does: `a, b and c`."""
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))
