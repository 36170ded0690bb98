"""The sentences at the top of a report and of each task: what differs, what cannot be told, what the paper has.

Each is that of a verdict of `lra compare`, and says no more than that.
"""

from collections.abc import Sequence
from typing import NamedTuple

from lra.base.text import number
from lra.runs.convergence import seeds_text
from lra.runs.published_numbers import PROTOCOLS, SIZES
from lra.tables.attention_sweep import EXACT
from lra.tables.comparison import Contender, seeds_of_rows
from lra.tables.notes_on_runs import ProtocolAndSize
from lra.tables.report.searches import FoundSearch
from lra.tables.report.summary import SummaryTable
from lra.tables.report.task_results import TaskResults
from lra.tables.result_sentences import size_in_words
from lra.tables.seeds_needed import enough_seeds, seeds_in_words
from lra.tables.statistics.estimators import Interval
from lra.terminal.display_names import TASK, display_name

SENTENCES = 3  # at the top
MOST_NAMED = 3
WHOLE_POINTS = 1.0  # a smaller difference has two digits


def report_sentences(
    results: Sequence[TaskResults], summary: SummaryTable, searches: Sequence[FoundSearch]
) -> list[str]:
    """Word what a reader wants to know first, in at most three sentences; one at least.

    Args:
        results: of each protocol, size and task, in the order of the page.
        summary: the table of all accuracies, with verdicts on those that the reference has too.
        searches: the trials that are no rows.
    """
    of_searches = _of_searches(searches)
    beside = [*_published(summary), *of_searches[:1]]
    verdicts = _of_verdicts(results)[: SENTENCES - len(beside[:1])]
    others = [*beside, *_counts(results), *of_searches[1:]]
    return _without_repeated_places([*verdicts, *others])[:SENTENCES]


def sentences_of_task(results: TaskResults) -> list[str]:
    """Word the verdicts on one task in a sentence; none without a verdict."""
    clauses = [*_differs(results), *_cannot_be_told(results, from_it=bool(_differs(results)))]
    return [_sentence("; ".join(clauses))] if clauses else []


class _Placed(NamedTuple):
    """A clause about runs of a protocol and size; without a group it is about all."""

    text: str
    group: ProtocolAndSize | None = None


def _without_repeated_places(clauses: Sequence[_Placed]) -> list[str]:
    """Write each clause as a sentence, with its protocol and size before it where the last ones were others."""
    sentences: list[str] = []
    last: ProtocolAndSize | None = None
    for clause in clauses:
        places = [] if clause.group in (None, last) else _place(clause.group)
        sentences.append(_sentence(", ".join([*places, clause.text])))
        last = clause.group or last
    return sentences


def _place(group: ProtocolAndSize | None) -> list[str]:
    """Word a size and a protocol that are not the benchmark's."""
    if group is None:
        return []
    size = [f"at size {group.size}, which is not the benchmark"] if group.size != SIZES[0] else []
    return size + ([f"under protocol {group.protocol}"] if group.protocol != PROTOCOLS[0] else [])


def _of_verdicts(results: Sequence[TaskResults]) -> list[_Placed]:
    """Word the verdicts on each task, in the order of `_in_order`; on a single one in two sentences."""
    clauses = []
    ordered = _in_order(results)
    for each in ordered:
        of_task = _clauses_of(each)
        texts = of_task if len(ordered) == 1 else ["; ".join(of_task)]
        clauses += [_Placed(text, each.group) for text in texts]
    return clauses


def _clauses_of(results: TaskResults) -> list[str]:
    differs = _differs(results, names_task=True)
    return [*differs, *_cannot_be_told(results, from_it=bool(differs))]


def _in_order(results: Sequence[TaskResults]) -> list[TaskResults]:
    """Put those with a verdict in the order of the sentences: first one of each group, which are in their order.

    Before others are those with a verdict over seeds, of these the ones with a gain, of these the largest.
    """
    judged = sorted((each for each in results if _verdicts(each)), key=_rank)
    groups = list(dict.fromkeys(each.group for each in results))
    first_of_group: dict[ProtocolAndSize, TaskResults] = {}
    for each in judged:
        first_of_group.setdefault(each.group, each)
    firsts = sorted(first_of_group.values(), key=lambda each: (_rank(each)[0], groups.index(each.group)))
    first_ids = set(map(id, firsts))
    return [*firsts, *(each for each in judged if id(each) not in first_ids)]


def _rank(results: TaskResults) -> tuple[bool, bool, float]:
    """Sort what is told over seeds before what is told on the test set, and gains before losses, the largest first."""
    verdicts = _verdicts(results)
    gains = [each.difference for each in verdicts if each.differs and each.difference > 0]
    losses = [-each.difference for each in verdicts if each.differs and each.difference < 0]
    return not verdicts[0].over_seeds, not gains, -max(gains or losses, default=0.0)


def _sentence(text: str) -> str:
    return f"{text[:1].upper()}{text[1:]}."


class _Verdict(NamedTuple):
    """The verdict of a comparison on one row; without an interval its seeds cannot tell, whatever the difference is."""

    row: Contender
    interval: Interval | None
    differs: bool
    over_seeds: bool

    @property
    def is_tested(self) -> bool:
        """Whether there is a test: over seeds none, if only some of them converged."""
        return not self.over_seeds or self.row.significant is not None

    @property
    def difference(self) -> float:
        """The difference from the baseline in points; 0 where none may be read."""
        return 0.0 if self.interval is None else self.interval.difference


def _verdicts(results: TaskResults) -> list[_Verdict]:
    """The verdicts on the rows of a task: over seeds, and only where no row has one those on the test set."""
    over_seeds = [
        _Verdict(each, each.over_seeds, differs=bool(each.significant), over_seeds=True)
        for each in results.others
        if each.said_over_seeds
    ]
    on_test_set = [
        _Verdict(each, each.over_examples, differs=each.over_examples.significant, over_seeds=False)
        for each in results.others
        if each.over_examples is not None
    ]
    return over_seeds or on_test_set


def _differs(results: TaskResults, *, names_task: bool = False) -> list[str]:
    """Word the largest significant difference upwards, or downwards if there is no other; none without any."""
    differing = [each for each in _verdicts(results) if each.differs]
    gains = [each for each in differing if each.difference > 0]
    losses = [each for each in differing if each.difference < 0]
    if not gains and not losses:
        return []
    kind, direction = ("gains", "better") if gains else ("losses", "worse")
    of_kind = gains or losses
    largest = max(of_kind, key=lambda each: abs(each.difference))
    assert largest.interval is not None
    size = size_in_words(largest.interval, 1 if abs(largest.difference) >= WHOLE_POINTS else 2)
    where = f" on {display_name(results.task, of=TASK)}" if names_task else ""
    text = f"{_name(largest.row, results)} is {direction} than {_name(results.baseline, results)}{where}"
    text += f" by {size}"
    others = f", the largest of {len(of_kind)} significant {kind}" if len(of_kind) > 1 else ""
    if largest.over_seeds:
        return [text + others]
    return [f"{text} on the test set with {_seeds(largest.row.pairs)}{others}; other seeds may differ"]


def _cannot_be_told(results: TaskResults, *, from_it: bool = False) -> list[str]:
    """Word that a row is not significantly different from the baseline, and how many seeds would tell; none if all are.

    The row is that of exact attention, or else that with the highest accuracy. `from_it`: the baseline has been named.
    """
    baseline = results.baseline
    alike = [each for each in _verdicts(results) if not each.differs]
    if not alike:
        return []
    tested = [each for each in alike if each.is_tested]
    exact = [each for each in alike if each.row.name == EXACT]
    chosen = exact[0] if exact else max(tested or alike, key=lambda each: each.row.cell.central_value)
    row = chosen.row
    whose = "it" if from_it else f"{_name(baseline, results)} on {display_name(results.task, of=TASK)}"
    text = f"{_name(row, results)} cannot be told from {whose} {_with_seeds(chosen, results)}"
    others = sum(each is not chosen for each in tested)
    if others:
        text += f"; nor can {'one other row' if others == 1 else f'{others} other rows'}"
    untested = sum(each is not chosen and not each.is_tested for each in alike)
    if untested:
        rows = "one row of which" if untested == 1 else f"{untested} rows of which"
        text += f"; {rows} only some seeds converged {'has' if untested == 1 else 'have'} no test"
    return [text]


def _with_seeds(verdict: _Verdict, results: TaskResults) -> str:
    """Word with how many seeds a row cannot be told from the baseline, and with how many it could be."""
    row, baseline = verdict.row, results.baseline
    if not verdict.over_seeds:
        return f"on the test set with {_seeds(row.pairs)}"
    counts = " and ".join(dict.fromkeys(str(each.cell.count) for each in (row, baseline)))
    if not verdict.is_tested:
        return f"with {counts} seeds, because only some of them converged"
    seeds = seeds_of_rows({each.name: each.cell for each in results.compared})
    return f"with {counts} seeds, {seeds_in_words(enough_seeds(seeds, row.name, baseline.name))} would"


def _seeds(count: int) -> str:
    return "one seed" if count == 1 else f"{count} seeds"


def _name(contender: Contender, results: TaskResults) -> str:
    """The display name of a row; with its settings, unless it is the baseline or the only row of its method."""
    method = contender.name.partition(" (")[0]
    of_method = [each for each in results.compared if each.name.partition(" (")[0] == method]
    alone = contender is results.baseline or len(of_method) == 1
    return display_name(method if alone else contender.name)


def _published(summary: SummaryTable) -> list[_Placed]:
    """Word how many accuracies are within the tolerance around the paper's; none if none is compared."""
    verdicts: list[tuple[str, str]] = []
    for rows in summary.groups.values():
        for row in rows:
            for task, cell in zip(summary.tasks, row.cells, strict=True):
                if cell is not None and cell.of.verdict:
                    verdicts.append((f"{display_name(row.name)} on {display_name(task, of=TASK)}", cell.of.verdict))
    if not verdicts:
        return []
    if len(verdicts) == 1:
        name, verdict = verdicts[0]
        return [_Placed(f"with the paper's settings {name} is {verdict} the tolerance around the paper's accuracy")]
    outside = [name for name, verdict in verdicts if verdict == "outside"]
    inside = len(verdicts) - len(outside)
    text = (
        f"of {len(verdicts)} accuracies with the paper's settings, {inside} are within the tolerance around the paper's"
    )
    return [_Placed(f"{text}; outside: {_listed(outside)}" if outside else text)]


def _listed(names: Sequence[str]) -> str:
    """List some names, and count those that are too many."""
    more = len(names) - MOST_NAMED
    return ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")


def _of_searches(searches: Sequence[FoundSearch]) -> list[_Placed]:
    """Count the trials of searches, then word the best of each; none without any."""
    if not searches:
        return []
    trials = sum(len(search.trials) for search in searches)
    count = "one search, which is" if len(searches) == 1 else f"{len(searches)} searches, each of which is"
    clauses = [_Placed(f"{trials} runs are trials of {count} a line below and no row of a table")]
    for search in searches:
        what = f"{len(search.trials)} trials of {display_name(search.method)} on {display_name(search.task, of=TASK)}"
        dev = number(100 * search.best.best_dev_accuracy)
        text = f"of {what} the best has a dev accuracy of {dev} %, with {search.words(0)}"
        clauses.append(_Placed(text, search.group))
    return clauses


def _counts(results: Sequence[TaskResults]) -> list[_Placed]:
    """Word what there is, of each task its best row, without a claim that rows differ; none without a row."""
    clauses = []
    for each in results:
        best = max(each.compared, key=lambda contender: contender.cell.central_value)
        majority = 100 * each.records[0].majority_rate
        accuracy = seeds_text(best.cell.accuracies, best.cell.converged)
        text = f"{display_name(best.name)} has {accuracy} % with {_seeds(best.cell.count)}"
        text += f" on {display_name(each.task, of=TASK)}, where the most frequent class has {number(majority, 1)} %"
        rows = len(each.compared)
        text += "; there is no other row to compare it with" if rows == 1 else f", the highest number of {rows} rows"
        clauses.append(_Placed(text, each.group))
    return clauses
