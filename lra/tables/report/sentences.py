"""The sentences at the top of a report and of each task: what differs, what cannot be told, what the paper has.

Each is that of a verdict of `lra compare`, and says no more than that.
"""

from collections.abc import Sequence

from lra.base.text import number
from lra.runs.convergence import seeds_text
from lra.runs.published_numbers import SIZES
from lra.tables.attention_sweep import EXACT
from lra.tables.comparison import Contender, seeds_of_rows
from lra.tables.report.searches import FoundSearch
from lra.tables.report.summary import SummaryTable
from lra.tables.report.task_results import TaskResults
from lra.tables.seeds_needed import seeds_in_words, seeds_that_tell
from lra.tables.statistics.estimators import Interval
from lra.terminal.display_names import TASK, display_name

SENTENCES = 3  # at the top
OF_VERDICTS = 2  # of these, where there is something else to say
MOST_NAMED = 3
WHOLE_POINTS = 1.0  # a smaller difference has two digits


def report_sentences(
    results: Sequence[TaskResults], summary: SummaryTable, searches: Sequence[FoundSearch], *, reference: str
) -> list[str]:
    """Word what a reader wants to know first, in at most three sentences; one at least.

    Args:
        results: of each protocol, size and task, in the order of the page.
        summary: the table of all accuracies, with verdicts on those that the reference has too.
        searches: the trials that are no rows.
        reference: the source of the published accuracies.
    """
    verdicts = _of_verdicts(results)
    others = [*_published(summary, reference), *_of_searches(searches)[:1], *_counts(results), *_of_searches(searches)[1:]]
    if len(verdicts) == 1:
        verdicts = _split(results)
    chosen = verdicts[: max(OF_VERDICTS, SENTENCES - len(others))]
    return [*chosen, *others][:SENTENCES]


def sentences_of_task(results: TaskResults) -> list[str]:
    """Word the verdicts on one task in a sentence; none without a verdict."""
    clauses = [*_differs(results), *_cannot_be_told(results, from_it=bool(_differs(results)))]
    return [_sentence("; ".join(clauses))] if clauses else []


def _of_verdicts(results: Sequence[TaskResults]) -> list[str]:
    """Word the verdicts on each task: first those of the largest difference in each group, then all others."""
    ordered = _in_order(results)
    return [_placed(each, "; ".join(_clauses_of(each))) for each in ordered]


def _split(results: Sequence[TaskResults]) -> list[str]:
    """Word the verdicts on the only task that has some, each in a sentence."""
    (only,) = _in_order(results)
    first, *rest = _clauses_of(only)
    return [_placed(only, first), *map(_sentence, rest)]


def _clauses_of(results: TaskResults) -> list[str]:
    differs = _differs(results, names_task=True)
    return [*differs, *_cannot_be_told(results, from_it=bool(differs))]


def _in_order(results: Sequence[TaskResults]) -> list[TaskResults]:
    """Put those with a verdict in the order of the sentences."""
    judged = [each for each in results if _differs(each) or _cannot_be_told(each)]
    by_difference = sorted(judged, key=lambda each: -max(map(_size_of, _different(each)), default=0.0))
    first_of_group = list({each.group: each for each in reversed(by_difference)}.values())
    firsts = [each for each in judged if any(each is first for first in first_of_group)]
    return [*firsts, *(each for each in by_difference if not any(each is first for first in firsts))]


def _placed(results: TaskResults, text: str) -> str:
    """Write a sentence, with the size and the protocol before it where they are not the benchmark's."""
    protocol, size = results.group
    places = []
    if size != SIZES[0]:
        places.append(f"at size {size}, which is not the benchmark")
    if protocol != "paper":
        places.append(f"under protocol {protocol}")
    return _sentence(", ".join([*places, text]))


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


def _judged_over_seeds(results: TaskResults) -> bool:
    return any(each.significant is not None for each in results.others)


def _different(results: TaskResults) -> list[Contender]:
    """The rows that differ significantly from the baseline: over seeds, or where no row has enough on the test set."""
    if _judged_over_seeds(results):
        return [each for each in results.others if each.significant]
    return [each for each in results.others if each.over_examples is not None and each.over_examples.significant]


def _interval(contender: Contender) -> Interval:
    interval = contender.over_examples if contender.significant is None else contender.over_seeds
    assert interval is not None
    return interval


def _size_of(contender: Contender) -> float:
    return abs(_interval(contender).difference)


def _differs(results: TaskResults, *, names_task: bool = False) -> list[str]:
    """Word the largest significant difference upwards, or downwards if there is no other; none without any."""
    differing = _different(results)
    better = [each for each in differing if _interval(each).difference > 0]
    worse = [each for each in differing if _interval(each).difference < 0]
    if not better and not worse:
        return []
    kind, direction, sign = ("gains", "better", 1) if better else ("losses", "worse", -1)
    of_kind = better or worse
    largest = max(of_kind, key=_size_of)
    interval = _interval(largest)
    ends = sorted((sign * interval.low, sign * interval.high))
    digits = 1 if abs(interval.difference) >= WHOLE_POINTS else 2
    points, low, high = (number(value, digits) for value in (abs(interval.difference), *ends))
    where = f" on {display_name(results.task, of=TASK)}" if names_task else ""
    text = f"{_name(largest, results)} is {direction} than {_name(results.baseline, results)}{where}"
    text += f" by {points} points [{low}, {high}]"
    if largest.significant is None:
        text += f" on the test set, with {_seeds(largest.pairs)}: other seeds may differ"
    if len(of_kind) > 1:
        text += f", the largest of {len(of_kind)} significant {kind}"
    return [text]


def _cannot_be_told(results: TaskResults, *, from_it: bool = False) -> list[str]:
    """Word that a row is not significantly different from the baseline, and how many seeds would tell; none if all are.

    The row is that of exact attention, or else that with the highest accuracy. `from_it`: the baseline has been named.
    """
    baseline = results.baseline
    if _judged_over_seeds(results):
        alike = [each for each in results.others if each.significant is False]
    else:
        examples = [each for each in results.others if each.over_examples is not None]
        alike = [each for each in examples if each.over_examples and not each.over_examples.significant]
    if not alike:
        return []
    exact = [each for each in alike if each.name == EXACT]
    named = exact[0] if exact else max(alike, key=lambda each: each.cell.central_value)
    whose = "it" if from_it else f"{_name(baseline, results)} on {display_name(results.task, of=TASK)}"
    text = f"{_name(named, results)} cannot be told from {whose}"
    if named.significant is None:
        text += f" on the test set with {_seeds(named.pairs)}"
    else:
        seeds = seeds_of_rows({each.name: each.cell for each in results.compared})
        counts = " and ".join(dict.fromkeys(str(each.cell.count) for each in (named, baseline)))
        text += f" with {counts} seeds, {seeds_in_words(seeds_that_tell(seeds, named.name, baseline.name))} would"
    if len(alike) > 1:
        text += f"; nor can {_rows(len(alike) - 1)}"
    return [text]


def _rows(count: int) -> str:
    return "one other row" if count == 1 else f"{count} other rows"


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"{count} seeds"


def _name(contender: Contender, results: TaskResults) -> str:
    """The display name of a row; with its settings, unless it is the baseline or the only row of its method."""
    method = contender.name.partition(" (")[0]
    of_method = [each for each in results.compared if each.name.partition(" (")[0] == method]
    alone = contender is results.baseline or len(of_method) == 1
    return display_name(method if alone else contender.name)


def _published(summary: SummaryTable, reference: str) -> list[str]:
    """Word how many accuracies are within the tolerance around the reference's; none if none is compared."""
    verdicts: list[tuple[str, str]] = []
    for rows in summary.groups.values():
        for row in rows:
            for column, cell in zip(summary.columns, row.cells, strict=True):
                if cell.verdict:
                    verdicts.append((f"{display_name(row.name)} on {display_name(column, of=TASK)}", cell.verdict))
    if not verdicts:
        return []
    outside = [name for name, verdict in verdicts if verdict == "outside"]
    whose = "the paper" if reference == "paper" else reference
    if len(verdicts) == 1:
        name, verdict = verdicts[0]
        return [f"{name} is {verdict} the tolerance around the accuracy that {whose} has."]
    inside = len(verdicts) - len(outside)
    text = f"Of {len(verdicts)} accuracies that {whose} has too, {inside} are within the tolerance around it"
    return [f"{text}; outside: {_listed(outside)}." if outside else f"{text}."]


def _listed(names: Sequence[str]) -> str:
    """List some names, and count those that are too many."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _of_searches(searches: Sequence[FoundSearch]) -> list[str]:
    """Count the trials of searches; none without any."""
    if not searches:
        return []
    trials = sum(len(search.trials) for search in searches)
    count = "one search" if len(searches) == 1 else f"{len(searches)} searches"
    sentences = [f"{trials} runs are trials of {count}, and no rows of a table: each search is a line of its own."]
    for search in searches:
        what = f"{len(search.trials)} trials of {display_name(search.method)} on {display_name(search.task, of=TASK)}"
        dev = number(100 * search.best["outcome"]["best_dev_accuracy"])
        sentences.append(f"Of {what} the best has a dev accuracy of {dev} %, with {search.words(0)}.")
    return sentences


def _counts(results: Sequence[TaskResults]) -> list[str]:
    """Word what there is, of each task its best row, without a claim that rows differ; none without a row."""
    sentences = []
    for each in results:
        best = max(each.compared, key=lambda contender: contender.cell.central_value)
        majority = 100 * each.records[0]["outcome"]["majority_rate"]
        accuracy = seeds_text(best.cell.accuracies, best.cell.converged)
        text = f"{display_name(best.name)} has {accuracy} % with {_seeds(best.cell.count)}"
        text += f" on {display_name(each.task, of=TASK)}"
        text += f", where the most frequent class has {number(majority, 1)} %"
        rows = len(each.compared)
        text += "; no other row is there to compare it with" if rows == 1 else f"; it is the highest of {rows} rows"
        sentences.append(_placed(each, text))
    return sentences
