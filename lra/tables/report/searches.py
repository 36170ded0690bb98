"""The trials of searches among the records of a report: those of one search are one line, and no rows of its tables.

A record does not say that its run was a trial. It is one if, in its run group, its configuration has one seed alone,
and others have the same method, task, data and seed, and differ by nothing but options of the training: those of the
recipe, the dropout, and what any record of the report names as searched.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from lra.base.text import number
from lra.runs.collection import data_of
from lra.runs.flat_settings import flatten
from lra.runs.published_numbers import in_benchmark_order
from lra.runs.schema import Record
from lra.tables.notes_on_runs import ProtocolAndSize, by_protocol_and_size
from lra.tables.variants import natural

LEAST_TRIALS = 3  # with fewer, each is a row of its own
SEARCHED_GROUP = "recipe"
SEARCHED_OPTIONS = ("model.dropout",)
SEARCH_COLUMNS = ("task", "method", "trials", "best dev (%)", "its test (%)", "its options")
Key = tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class FoundSearch:
    """The trials of one search, that of the best dev accuracy first.

    Attributes:
        varied: the dotted keys of the options in which they differ, but for options that repeat another one.
        points: the values of these options, by trial.
    """

    trials: Sequence[Record]
    varied: Sequence[str]
    points: Sequence[Sequence[str]]

    @property
    def best(self) -> Record:
        """The trial with the best dev accuracy, which a search chooses."""
        return self.trials[0]

    @property
    def group(self) -> ProtocolAndSize:
        """Protocol and size of the trials."""
        return ProtocolAndSize(self.best.protocol, self.best.size)

    @property
    def task(self) -> str:
        """The task of the trials."""
        return self.best.task

    @property
    def method(self) -> str:
        """The attention or mixer of the trials."""
        return self.best.method

    def words(self, trial: int) -> str:
        """Write the point of a trial: `lr=0.00117, dropout=0.14`; keys are whole where their last parts are equal."""
        last_parts = [key.rpartition(".")[2] for key in self.varied]
        texts = []
        for key, last_part, value in zip(self.varied, last_parts, self.points[trial], strict=True):
            name = last_part if last_parts.count(last_part) == 1 else key
            texts.append(f"{name}={value}")
        return ", ".join(texts)

    def lines(self) -> list[str]:
        """Write a line for each trial, the best one first."""
        return [
            f"{_percent(trial.best_dev_accuracy)}  {_percent(trial.test_accuracy)}  {self.words(place)}"
            for place, trial in enumerate(self.trials)
        ]

    def cells(self) -> list[str]:
        """Write what the search has in each of `SEARCH_COLUMNS` behind task and method."""
        outcome = self.best.outcome
        accuracies = [_percent(outcome["best_dev_accuracy"]), _percent(outcome["test_accuracy"])]
        return [str(len(self.trials)), *accuracies, self.words(0)]


def _percent(fraction: float) -> str:
    return number(100 * fraction)


def without_searches(records: Sequence[Record]) -> tuple[list[Record], list[FoundSearch]]:
    """Split records into those of tables, in their order, and the trials of searches, by protocol, size and task."""
    searched = _searched_options(records)
    runs: dict[Key, list[Record]] = defaultdict(list)
    keys: list[Key] = []
    for record in records:
        keys.append(_without_training(record, searched))
        runs[keys[-1]].append(record)
    trials = {key: _with_one_seed(members) for key, members in runs.items()}
    searches = {key: members for key, members in _by_seed(trials).items() if len(members) >= LEAST_TRIALS}
    of_searches = {id(record) for members in searches.values() for record in members}
    rest = [record for record in records if id(record) not in of_searches]
    found = [_found(members) for members in searches.values()]
    groups = list(by_protocol_and_size(search.best for search in found))
    tasks = in_benchmark_order(search.task for search in found)
    found.sort(key=lambda search: (groups.index(search.group), tasks.index(search.task)))
    return rest, found


def _searched_options(records: Iterable[Record]) -> set[str]:
    """The dotted keys of options that are searched as a rule, or that a record says were searched."""
    searched = set(SEARCHED_OPTIONS)
    for record in records:
        if record.tuned is not None:
            searched |= record.settings["tuned"]["options"].keys()
    return searched


def _without_training(record: Record, searched: set[str]) -> Key:
    """The key of records that are alike but for their seeds and the searched options."""
    identity = record.identity
    settings: dict[str, object] = {key: value for key, value in record.settings.items() if key != SEARCHED_GROUP}
    for option in searched:
        group, _, inner = option.partition(".")
        if isinstance(settings.get(group), dict):
            settings[group] = _without(settings[group], inner)
    names = (identity["task"], identity["attention"], identity["run_group"], data_of(record))
    return (*names, json.dumps(settings, sort_keys=True))


def _without(group: object, key: str) -> object:
    """Copy a group of settings without an option, by its dotted key in the group."""
    if not isinstance(group, Mapping):
        return group
    name, _, inner = key.partition(".")
    rest = {each: value for each, value in group.items() if each != name}
    if inner and name in group:
        rest[name] = _without(group[name], inner)
    return rest


def _with_one_seed(records: Iterable[Record]) -> list[Record]:
    """Keep the records of configurations that have one seed; what a search has chosen is no trial of it."""
    by_configuration: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.tuned is None:
            by_configuration[record.config_hash].append(record)
    return [members[0] for members in by_configuration.values() if len(members) == 1]


def _by_seed(trials: Mapping[Key, Sequence[Record]]) -> dict[Key, list[Record]]:
    """Split the trials of each key by seed: those of a search have the same one."""
    by_seed: dict[Key, list[Record]] = defaultdict(list)
    for key, members in trials.items():
        for record in members:
            by_seed[*key, str(record.seed)].append(record)
    return by_seed


def _found(records: Iterable[Record]) -> FoundSearch:
    """Make the search of some trials; of equal dev accuracies the first comes first."""
    trials = sorted(records, key=lambda record: -record.best_dev_accuracy)
    flat = [flatten(record.settings) for record in trials]
    every_key = {key for options in flat for key in options}
    varied = sorted((key for key in every_key if len({options.get(key) for options in flat}) > 1), key=natural)
    points = [[options.get(key, "unset") for key in varied] for options in flat]
    return FoundSearch(trials=trials, varied=varied, points=points)
