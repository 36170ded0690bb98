"""Group records into variants with equal settings, so that only equal runs are averaged, and name each variant."""

from __future__ import annotations

import functools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterable

from lra.results.paper import paper_settings
from lra.results.reference import in_order
from lra.runs.added_since import later_settings, removed_settings
from lra.runs.collect import data_of
from lra.runs.flatten_settings import NOT_RECORDED, Flat, branches, flat, in_words, keys
from lra.runs.schema import ALWAYS_RECORDED, MIXERS, TARGET, Record

ORDER = ("attention", "mixer", "model", "protocol", "size", "task", "data", "recipe", "trainer", "callbacks")
ALWAYS_SET = tuple(f"trainer.{name}" for name in ALWAYS_RECORDED)
UNSET = "unset"  # the word of a setting that is recorded only if it is set
# What a row without words has, even if no record has it: a table in another precision must not look like the paper's.
ALWAYS_USUAL = {"trainer.precision": "32-true", "protocol.listops_brackets": "kept"}
WITH_THE_DEVICE = ("trainer.fused_optimizer",)  # recorded only if set, but usual where the device brings it
WITH_ARGUMENTS = ("recipe.optimizer", "recipe.schedule")  # a user may add any argument, or choose another class
METHODS = (*MIXERS, "model")
NUMBER = re.compile(r"([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)")
OF_THE_TASK = ("task", "data", "recipe")
GROUP_PLACES = {name: place for place, name in enumerate(ORDER)}
Family = tuple[str, ...]
Usual = dict[Family, dict[str, tuple[int, str | None]]]  # of each key the order in which it was met, and its value


def group_by_variant(records: Iterable[Record], *, but: tuple[str, ...] = ()) -> dict[str, list[Record]]:
    """Group records by attention, settings and data; the keys of the result are names for table rows.

    A name lists settings that tell variants apart. A knob of an attention is listed when it differs among the
    attention's records: `nystrom (num_landmarks=32)`. Any other setting is listed when it differs from the most
    frequent value, which is counted among the records of a task for data and recipe, and else among all records. A
    setting that only some records hold is listed as "not recorded" for the others; more than three of them are counted,
    if that does not make two names equal. So no group mixes settings.

    Args:
        records: any records.
        but: settings that are ignored, such as `attention.num_landmarks` in a sweep over it.
    """
    records = list(records)
    kinds = _of_equal_settings(records)
    settings = [_settings(records[places[0]], but) for places in kinds]
    recorded = {key for mine in settings for key in mine}
    only_if_set = {key for key in recorded if _only_if_set(key)}
    settings = [
        _unset(mine, recorded, only_if_set) | _later(records[places[0]], recorded) | mine
        for places, mine in zip(kinds, settings, strict=True)
    ]
    members = [[records[place] for place in places] for places in kinds]
    usual = _usual(members, settings)
    groups: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for places, mine in zip(kinds, settings, strict=True):
        first = records[places[0]]
        groups[first["identity"]["attention"], *_apart(first, mine, usual)] += places
    variants: dict[tuple[str, ...], list[Record]] = defaultdict(list)
    swept = _swept(records, kinds, but)
    for words, places in groups.items():
        unrecorded = _unrecorded({place: (records[place], swept[place]) for place in sorted(places)})
        for place in sorted(places):
            variants[*words, *unrecorded.get(place, [])].append(records[place])
    short = {words: _name(*_counted(words)) for words in variants}
    times = Counter(short.values())
    named = {short[words] if times[short[words]] == 1 else _name(*words): found for words, found in variants.items()}
    return dict(sorted(named.items(), key=lambda item: natural(item[0])))


def _name(attention: str, *apart: str) -> str:
    return f"{in_words(attention)} ({', '.join(apart)})" if apart else in_words(attention)


def _counted(words: tuple[str, ...]) -> list[str]:
    """Replace more than three settings that were not recorded by their number."""
    others = [word for word in words if not word.endswith(f" {NOT_RECORDED}")]
    number = len(words) - len(others)
    return [*others, f"{number} settings {NOT_RECORDED}"] if number > 3 else list(words)


def natural(name: str) -> tuple[list[str | float], str]:
    """Make the key that sorts names with the numbers in them as numbers: 16 before 128, 1e-05 before 0.001."""
    parts = NUMBER.split(name)  # text and numbers by turns
    return [float(part) if place % 2 else part for place, part in enumerate(parts)], name


def rows_by_task(records: Iterable[Record]) -> dict[str, dict[str, list[Record]]]:
    """Split records by task, in the order of the table, and there by the row that they have in a table of all."""
    rows: dict[str, dict[str, list[Record]]] = {}
    for name, members in group_by_variant(records).items():
        for record in members:
            rows.setdefault(record["identity"]["task"], {}).setdefault(name, []).append(record)
    return {task: rows[task] for task in in_order(rows)}


def accuracies(records: Iterable[Record]) -> list[float]:
    """Test accuracies, as fractions."""
    return [record["outcome"]["test_accuracy"] for record in records]


def settings_beside_the_mixer(records: list[Record]) -> dict[int, str]:
    """Write, by the `id` of each record, the settings that its row's name lists and that are not the attention's."""
    knobs: set[str] = set()
    for record in records:
        settings = record["settings"]
        knobs |= keys({group: settings[group] for group in MIXERS if group in settings})
    named = group_by_variant(records, but=tuple(sorted(knobs)))
    return {id(record): name.partition(" (")[2] for name, members in named.items() for record in members}


def _settings(record: Record, but: tuple[str, ...]) -> Flat:
    """Flatten the settings and data of a record, without those that its task and attention name."""
    data = {"origin": record["provenance"]["data_origin"], "content": data_of(record)}
    callbacks = {f"callbacks.{name}": _call(made) for name, made in record["settings"].get("callbacks", {}).items()}
    settings = {group: values for group, values in record["settings"].items() if group != "callbacks"}
    leaves = flat({**settings, "data": data}) | callbacks
    row = record["identity"]["attention"]  # the row's name starts with it
    said = {"task.name", *but, *(f"{group}.name" for group in METHODS if leaves.get(f"{group}.name") == in_words(row))}
    return {key: word for key, word in leaves.items() if key not in said}


def _of_equal_settings(records: list[Record]) -> list[list[int]]:
    """The places of the records, those together whose settings, data and names are equal, such as seeds of one run."""
    places: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for place, record in enumerate(records):
        identity, provenance = record["identity"], record["provenance"]
        names = (identity["task"], identity["attention"], identity["protocol"], provenance["data_origin"])
        places[*names, json.dumps(record["settings"]), json.dumps(provenance["data_sha256"])].append(place)
    return list(places.values())


def _unset(mine: Flat, recorded: set[str], only_if_set: set[str]) -> Flat:
    """Those recorded settings that are recorded only if they are set, and the arguments of a class that others have."""
    classes = tuple(f"{place}." for place in WITH_ARGUMENTS if f"{place}.{TARGET}" in mine)
    of_classes = {key for key in recorded if key.startswith(classes)} if classes else set()
    return dict.fromkeys(sorted(only_if_set | of_classes), UNSET)


def _later(record: Record, recorded: set[str]) -> Flat:
    """Those of some recorded settings that a record's classes have not always had, with the values of runs without."""
    groups = {name: group for name, group in record["settings"].items() if isinstance(group, dict)}
    later = flat({name: later_settings(group, name) | removed_settings(group) for name, group in groups.items()})
    return {key: word for key, word in later.items() if key in recorded}


def _call(made: dict[str, object]) -> str:
    """Write what a class is made from as a call, such as `EarlyStopping(monitor=dev/accuracy, patience=5)`."""
    arguments = flat({key: value for key, value in made.items() if key != TARGET})
    called = str(made.get(TARGET)).rpartition(".")[2]
    return f"{called}({', '.join(f'{key}={word}' for key, word in sorted(arguments.items()))})"


def _only_if_set(key: str) -> bool:
    return key.startswith(("trainer.", "callbacks.")) and key not in ALWAYS_SET


def _usual(kinds: list[list[Record]], settings: list[Flat]) -> Usual:
    """Find the usual value of each key, which names do not list, within each family of records.

    Args:
        kinds: the records, those together whose settings are equal.
        settings: the settings of each kind.
    """
    seen: dict[tuple[Family, str], Counter[str]] = defaultdict(Counter)
    for members, mine in zip(kinds, settings, strict=True):
        for key, word in mine.items():
            seen[_family(members[0], key), key][word] += len(members)
    papers = {(_family(first, key), key): word for first, *_ in kinds for key, word in _papers(first).items()}
    usual: Usual = defaultdict(dict)
    for place, ((family, key), counts) in enumerate(seen.items()):
        usual[family][key] = (place, _most(key, counts, papers.get((family, key))))
    return usual


def _papers(record: Record) -> Flat:
    return _flat_papers(record["identity"]["task"], record["identity"]["attention"])


@functools.cache
def _flat_papers(task: str, attention: str) -> Flat:
    settings = paper_settings(task, attention)
    return {} if settings is None else flat(settings)


def _most(key: str, counts: Counter[str], papers: str | None) -> str | None:
    """Choose the usual value: the most frequent one, or the paper's among equals; None for a knob that varies."""
    if key in ALWAYS_USUAL:
        return ALWAYS_USUAL[key]
    if key.startswith(("attention.", "mixer.")) and len(counts) > 1:
        return None
    if _only_if_set(key) and key not in WITH_THE_DEVICE:
        return UNSET
    return max(sorted(counts), key=lambda word: (counts[word], word == papers))


def _family(record: Record, key: str) -> Family:
    """Name the family of records among which the usual value of a key is found."""
    identity, group = record["identity"], key.split(".")[0]
    if group in MIXERS:
        return (group, identity["attention"], identity["protocol"])
    if group == "protocol" and key != "protocol.name":
        return (group, identity["protocol"])
    return (group, identity["task"]) if group in OF_THE_TASK else (group,)


def _families(record: Record, usual: Usual) -> set[Family]:
    """The families among which the usual values of a record's settings were found."""
    return {_family(record, key) for group in {family[0] for family in usual} for key in (f"{group}.name", group)}


def _apart(record: Record, mine: Flat, usual: Usual) -> list[str]:
    """List in words the settings of a record that are not usual, and those that only other records hold."""
    apart, absent = {}, []
    for family in _families(record, usual):
        for key, (place, word) in usual.get(family, {}).items():
            if key not in mine:
                absent.append(key)
            elif mine[key] != word:
                apart[key] = (GROUP_PLACES.get(key.split(".")[0], len(ORDER)), place)
    said = [f"{_short(key)}={mine[key]}" for key in sorted(apart, key=lambda key: apart[key])]
    return said + [f"{key} {NOT_RECORDED}" for key in branches(absent, mine)]


def _short(key: str) -> str:
    """Shorten a key: `attention.num_landmarks` to `num_landmarks`, `protocol.name` to `protocol`."""
    group, *rest = key.split(".")
    if rest == ["name"]:
        return group
    return ".".join(rest) if group in (*MIXERS, "callbacks") else key.removesuffix(".name")


def _swept(records: list[Record], kinds: list[list[int]], but: tuple[str, ...]) -> dict[int, tuple[str, ...]]:
    """By the place of each record, its values of the settings that are ignored."""
    held = [flat(records[places[0]]["settings"]) if but else {} for places in kinds]
    values = [tuple(settings.get(key, "") for key in but) for settings in held]
    return {place: mine for places, mine in zip(kinds, values, strict=True) for place in places}


def _unrecorded(members: dict[int, tuple[Record, tuple[str, ...]]]) -> dict[int, list[str]]:
    """Tell apart records whose recorded settings are equal but whose hashes differ, by naming the hash.

    Args:
        members: the records by place, each with its values of the settings that are ignored.
    """
    hashes: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for record, values in members.values():
        hashes[record["identity"]["task"], *values].add(record["provenance"]["config_hash"])
    return {
        place: [f"unrecorded settings {record['provenance']['config_hash']}"]
        for place, (record, values) in members.items()
        if len(hashes[record["identity"]["task"], *values]) > 1
    }
