"""Which runs may be averaged: group records by a key, so that those of one key differ by the seed alone, and name keys.

The rule: two records of a task have one key only if all that they hold of method, settings and data is equal, and if
the hashes of their settings, which also cover what older records do not hold, are equal too. Over several tasks, whose
recipes and data differ, a key is the method and what is unusual among the records of its task. It is made in five
steps. A name is for display alone: the method and, in brackets, what sets its key apart: `nystrom (num_landmarks=32)`.
Options have dotted keys, such as `model.num_layers`.
"""

import functools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lra.runs.flat_settings import NOT_RECORDED, FlatSettings, branches, flatten, value_text
from lra.runs.published_numbers import NOT_SET, SETS_BY_TASK, family_settings, paper_settings
from lra.runs.schema import ALWAYS_RECORDED, MIXERS, TARGET, Record, RunSettings
from lra.runs.settings_hash import hash_of, removed_settings, values_before

# The groups in the order in which the name of a row lists their options. `data` is from the provenance.
GROUPS_IN_NAMES = (
    "attention", "mixer", "model", "protocol", "size", "task", "data", "recipe", "pretrain", "trainer", "callbacks",
    "tuned",
)  # fmt: skip
# Groups, and options, whose usual value is counted only among runs that share these names; others: among all runs.
COUNTED_WITHIN: Mapping[str, tuple[Literal["task", "attention", "protocol"], ...]] = {
    "attention": ("attention", "protocol"),
    "mixer": ("attention", "protocol"),
    "protocol": ("protocol",),
    "protocol.name": (),
    "task": ("task",),
    "data": ("task",),
    "recipe": ("task",),
    "pretrain": ("task",),
    "pretrain.name": (),
}
OF_SOME_RUNS = "pretrain"  # a group that only some runs have: its name tells which, its options are compared among them
# Usual whatever the runs have: a table in which all runs have another precision must not look like the paper's.
USUAL_VALUES = {"trainer.precision": "32-true", "protocol.listops_brackets": "kept"}
RECORDED_IF_SET = ("pretrain", "trainer", "callbacks", "tuned")  # groups that record what is set, and ALWAYS_RECORDED
SET_BY_THE_DEVICE = ("trainer.fused_optimizer",)  # recorded only if set, but usual where the device brings it
TAKE_ANY_ARGUMENT = ("recipe.optimizer", "recipe.schedule")  # a user may add any argument, or choose another class
ALWAYS_SET = tuple(f"trainer.{option}" for option in ALWAYS_RECORDED)
CONTENT = "data.content"  # the hash of a run's data
OF_DATA = ("task.", "protocol.", "data.origin")  # the settings that tell which data it is
UNSET = "unset"  # the value of an option that is recorded only if it is set, for records without it
SEARCH_IN_NAMES: tuple[Literal["space", "budget"], ...] = ("space", "budget")
MOST_NOT_RECORDED = 3  # options that a name lists as not recorded; more are counted
NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)")
Texts = tuple[str, ...]
Scope = tuple[str, ...]  # a config group and, where its options are compared among some records alone, what they share


class RowKey(NamedTuple):
    """What the records of a row share, and what sets them apart from those of other rows.

    Attributes:
        method: the attention or mixer.
        options: the options that are not usual, by dotted key, with their values as texts, in the order of names.
        not_recorded: branches of options that only records of other rows hold.
        config_hash: the hash of the settings, where options that older records do not hold must differ; else empty.
    """

    method: str
    options: tuple[tuple[str, str], ...] = ()
    not_recorded: tuple[str, ...] = ()
    config_hash: str = ""


@dataclass(frozen=True, kw_only=True)
class _EqualRuns:
    """Records with equal settings and data, such as the seeds of one run: their places among all, the first of them.

    `options` has the text of each option by its dotted key, without those that the row's name begins with, `ignored`
    the texts of those that `group_by_key` is told to ignore.
    """

    indices: list[int]
    first: Record
    options: FlatSettings
    ignored: Texts


class _Usual(NamedTuple):
    """The usual value of an option, which names do not list, and the option's place in names.

    Without a usual value (None) names list each value.
    """

    value: str | None
    position: tuple[int, int]


UsualValues = Mapping[Scope, Mapping[str, _Usual]]


def group_by_key(records: Iterable[Record], *, ignored: tuple[str, ...] = ()) -> dict[RowKey, list[Record]]:
    """Group records by method, settings and data.

    A key has the options that tell rows apart. An option of an attention or mixer is in it when it differs among the
    method's records. Any other option is in it when it differs from the most frequent value, which is counted among the
    records of a task for data and recipe, and else among all records. The hash of the data is in it only if settings do
    not tell that the data differ.

    `ignored` are dotted keys of options that are not compared, such as `attention.num_landmarks` in a sweep over it.
    """
    records = list(records)
    runs = _equal_runs(records, ignored)
    usual = _usual_values(runs)
    rows: dict[RowKey, list[_EqualRuns]] = defaultdict(list)
    for run in runs:
        rows[_key(run, usual)].append(run)
    groups: dict[RowKey, list[Record]] = defaultdict(list)
    for key, members in rows.items():
        hashes = _hashes_apart(records, members)
        for index in sorted(index for run in members for index in run.indices):
            groups[key._replace(config_hash=hashes.get(index, ""))].append(records[index])
    return groups


def row_names(keys: Iterable[RowKey]) -> dict[RowKey, str]:
    """Name the rows of a table, each differently, in the order of their names: `nystrom (num_landmarks=32)`.

    More than three options that were not recorded are counted, if that does not make two names equal.
    """
    short = {key: _name(key, counted=True) for key in keys}
    times = Counter(short.values())
    names = {key: name if times[name] == 1 else _name(key) for key, name in short.items()}
    times = Counter(names.values())
    alike = {key: f"{name} {hash_of(key._asdict())}" for key, name in names.items() if times[name] > 1}
    return dict(sorted({**names, **alike}.items(), key=lambda item: natural(item[1])))


def natural(name: str) -> tuple[list[str | float], str]:
    """Make the key that sorts names with the numbers in them as numbers: 16 before 128, 1e-05 before 0.001."""
    parts = NUMBER.split(name)  # text and numbers by turns
    return [float(part) if index % 2 else part for index, part in enumerate(parts)], name


def _equal_runs(records: Sequence[Record], ignored: tuple[str, ...]) -> list[_EqualRuns]:
    """Step 1: put records together whose names, settings and data are equal."""
    indices: dict[Texts, list[int]] = defaultdict(list)
    for index, record in enumerate(records):
        identity, provenance = record.identity, record.provenance
        names = (identity["task"], identity["attention"], identity["protocol"], provenance["data_origin"])
        indices[*names, json.dumps(record.settings), json.dumps(provenance["data_sha256"])].append(index)
    recorded = []
    for (_, attention, _, origin, settings_json, data_json), equal in indices.items():
        recorded.append((equal, _recorded_options(attention, origin, settings_json, data_json)))
    if _settings_tell_content([(records[equal[0]].task, options) for equal, options in recorded]):
        ignored = (*ignored, CONTENT)
    keys = {key for _, options in recorded for key in options} - {*ignored}
    return [
        _EqualRuns(
            indices=equal,
            first=records[equal[0]],
            options=_all_options(records[equal[0]], {key: options[key] for key in options if key not in ignored}, keys),
            ignored=tuple(options.get(key, "") for key in ignored),
        )
        for equal, options in recorded
    ]


def _settings_tell_content(recorded: Iterable[tuple[str, FlatSettings]]) -> bool:
    """Tell whether the data of runs of a task differ only where settings of the data do, so that names have these."""
    contents: dict[Texts, set[str]] = defaultdict(set)
    for task, options in recorded:
        settings = (f"{key}={text}" for key, text in options.items() if key.startswith(OF_DATA))
        contents[task, *settings].add(options[CONTENT])
    return all(len(found) == 1 for found in contents.values())


@functools.lru_cache(maxsize=4096)
def _recorded_options(attention: str, origin: str, settings_json: str, data_json: str) -> FlatSettings:
    """Flatten the settings and data of a record, without the names of its task and method.

    They are given as texts, settings and data as JSON: one report asks for those of the same run dozens of times.
    Nobody changes what is returned.
    """
    settings: RunSettings = json.loads(settings_json)
    data = {"origin": origin, "content": hash_of(json.loads(data_json))}
    groups = {group: options for group, options in settings.items() if group not in ("callbacks", "tuned")}
    if "tuned" in settings:
        groups["tuned"] = {key: settings["tuned"][key] for key in SEARCH_IN_NAMES}
    callbacks = settings.get("callbacks", {}).items()
    options = flatten({**groups, "data": data}) | {
        f"callbacks.{name}": _as_call(callback) for name, callback in callbacks
    }
    method = value_text(attention)
    named = {"task.name", *(f"{group}.name" for group in (*MIXERS, "model") if options.get(f"{group}.name") == method)}
    return {key: text for key, text in options.items() if key not in named}


def _chosen_by_search(record: Record) -> Mapping[str, str]:
    return record.tuned["options"] if record.tuned is not None else {}


def _as_call(callback: Mapping[str, object]) -> str:
    """Write what a class is made from as a call, such as `EarlyStopping(monitor=dev/accuracy, patience=5)`."""
    arguments = flatten({key: value for key, value in callback.items() if key != TARGET})
    name = str(callback.get(TARGET)).rpartition(".")[2]
    return f"{name}({', '.join(f'{key}={text}' for key, text in sorted(arguments.items()))})"


def _all_options(record: Record, recorded: FlatSettings, keys: set[str]) -> FlatSettings:
    """Step 2: add to what a record holds those of the keys of all records that were not set, or came to lra later.

    What a search has chosen is left out, because it is another value for each task: runs of one method belong
    together if their searches had the same space and the same budget.
    """
    classes = tuple(f"{key}." for key in TAKE_ANY_ARGUMENT if f"{key}.{TARGET}" in recorded)
    unset = sorted(key for key in keys if _is_recorded_if_set(key) or key.startswith(classes))
    groups = {name: group for name, group in record.settings.items() if isinstance(group, dict)}
    before = flatten({name: values_before(group, name) | removed_settings(group) for name, group in groups.items()})
    options = dict.fromkeys(unset, UNSET) | {key: text for key, text in before.items() if key in keys} | recorded
    return {key: text for key, text in options.items() if key not in _chosen_by_search(record)}


@functools.cache
def _is_recorded_if_set(key: str) -> bool:
    group, _, option = key.partition(".")
    return group in RECORDED_IF_SET and option != "" and key not in ALWAYS_SET


def _is_of_some_runs(key: str) -> bool:
    """Tell whether an option is of a group that only some runs have, which the group's name tells apart."""
    return key.startswith(f"{OF_SOME_RUNS}.") and key != f"{OF_SOME_RUNS}.name"


def _scope(record: Record, key: str) -> Scope:
    """Name the records among which the usual value of an option is counted: a config group, and what they share."""
    group, shared = _group_and_shared_names(key)
    identity = record.identity
    if group in SETS_BY_TASK and family_settings(identity["protocol"], identity["task"]):
        shared = ("task", "attention", "protocol")
    return (group, *[record.identity[name] for name in shared])


@functools.cache
def _group_and_shared_names(key: str) -> tuple[str, tuple[Literal["task", "attention", "protocol"], ...]]:
    group = key.split(".")[0]
    return group, COUNTED_WITHIN.get(key, COUNTED_WITHIN.get(group, ()))


def _usual_values(runs: Sequence[_EqualRuns]) -> UsualValues:
    """Step 3: find the usual value of each option within each scope, which goes without saying."""
    counts: dict[tuple[Scope, str], Counter[str]] = defaultdict(Counter)
    papers: dict[tuple[Scope, str], str] = {}
    fixed: dict[tuple[Scope, str], str] = {}
    for run in runs:
        for key, text in run.options.items():
            counts[_scope(run.first, key), key][text] += len(run.indices)
        identity = run.first.identity
        for key, text in _papers_options(identity["task"], identity["attention"]).items():
            papers[_scope(run.first, key), key] = text
        named = (identity[name] for name in ("protocol", "size", "task", "attention"))
        for key, text in _familys_options(*named).items():
            fixed[_scope(run.first, key), key] = text
    usual: dict[Scope, dict[str, _Usual]] = defaultdict(dict)
    for position, ((scope, key), times) in enumerate(counts.items()):
        of_group = [*GROUPS_IN_NAMES, scope[0]].index(scope[0])  # others come last
        value = fixed.get((scope, key)) or _usual_value(key, times, papers.get((scope, key)))
        usual[scope][key] = _Usual(value, (of_group, position))
    return usual


@functools.cache
def _papers_options(task: str, attention: str) -> FlatSettings:
    return flatten(paper_settings(task, attention) or {})


@functools.cache
def _familys_options(protocol: str, size: str, task: str, method: str) -> FlatSettings:
    """The options that a protocol sets for a task: they are usual there, whatever the runs have; not at other sizes."""
    settings = family_settings(protocol, task) or {}
    if settings.get("size") != {"name": size}:
        return {}
    groups = [group for group in SETS_BY_TASK if settings.get(group, {}).get("name", method) == method]
    chosen = flatten(settings)
    return {key: chosen[key] for key in chosen if key.partition(".")[0] in groups and key not in NOT_SET}


def _usual_value(key: str, times: Counter[str], papers: str | None) -> str | None:
    """Choose the most frequent value, or the paper's among equals; None for an option of a method that varies."""
    if key in USUAL_VALUES:
        return USUAL_VALUES[key]
    if key.startswith("tuned.") and len(times) == 1:  # all runs are of one search
        return next(iter(times))
    if key.startswith(("attention.", "mixer.")) and len(times) > 1:
        return None
    if _is_of_some_runs(key):
        times = Counter({text: count for text, count in times.items() if text != UNSET}) or times
    elif _is_recorded_if_set(key) and key not in SET_BY_THE_DEVICE:
        return UNSET
    return max(sorted(times), key=lambda text: (times[text], text == papers))


def _key(run: _EqualRuns, usual: UsualValues) -> RowKey:
    """Step 4: find the options that are not usual, and those that only other records hold."""
    groups = {scope[0] for scope in usual}
    scopes = {_scope(run.first, key) for group in groups for key in (group, f"{group}.name")}
    different, absent = [], []
    for key, (value, position) in (item for scope in scopes for item in usual.get(scope, {}).items()):
        if key not in run.options:
            absent += [key] * (key not in _chosen_by_search(run.first))
        elif run.options[key] not in (value, UNSET if _is_of_some_runs(key) else value):
            different.append((position, _short(key), key, run.options[key]))
    options = tuple((key, text) for _, _, key, text in sorted(different))
    return RowKey(run.first.method, options, tuple(branches(absent, run.options)))


def _short(key: str) -> str:
    """Shorten a key: `attention.num_landmarks` to `num_landmarks`, `protocol.name` to `protocol`."""
    group, *rest = key.split(".")
    if rest == ["name"]:
        return group
    return ".".join(rest) if group in (*MIXERS, "callbacks") else key.removesuffix(".name")


def _hashes_apart(records: Sequence[Record], runs: Sequence[_EqualRuns]) -> dict[int, str]:
    """Step 5: find, by index, the hashes of those records of a row that have several for one task."""
    hashes: dict[Texts, dict[int, str]] = defaultdict(dict)
    for run in runs:
        for index in run.indices:
            config_hash = records[index].config_hash
            hashes[run.first.task, *run.ignored][index] = config_hash
    several = (by_index for by_index in hashes.values() if len(set(by_index.values())) > 1)
    return {index: value for by_index in several for index, value in by_index.items()}


def _name(key: RowKey, *, counted: bool = False) -> str:
    """Write a key's name; with `counted` more than three options that were not recorded are a number."""
    absent = [f"{branch} {NOT_RECORDED}" for branch in key.not_recorded]
    unrecorded = [f"unrecorded settings {key.config_hash}"] if key.config_hash else []
    differences = [*(f"{_short(option)}={text}" for option, text in key.options), *absent, *unrecorded]
    if counted and len(absent) > MOST_NOT_RECORDED:
        differences = [text for text in differences if text not in absent]
        differences.append(f"{len(absent)} settings {NOT_RECORDED}")
    return f"{value_text(key.method)} ({', '.join(differences)})" if differences else value_text(key.method)
