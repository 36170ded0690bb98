"""The blocks on probes: what each asks, what is known of it without a model, and what the published runs have shown."""

import functools
import math
from collections import defaultdict
from collections.abc import Mapping
from typing import Any

import numpy as np
from hydra.utils import get_method

from docs.blocks.markdown import ends, joined, prose, some_columns, table, table_printed
from docs.blocks.published import by_task, cells, records
from lra.base.probes import GIVEN, is_probe
from lra.base.text import MISSING
from lra.runs.schema import Record
from lra.settings.compose import load_config
from lra.settings.declared import declared_by_class
from lra.tables.cells import TableCell
from lra.tables.comparison import seeds_of_rows
from lra.tables.comparison_table import accuracy_on_longer
from lra.tables.statistics.significance import Pair, significant_pairs
from lra.tables.task_statistics import separation_by_task
from lra.terminal.display_names import display_name
from lra.verbs.show_choices import choices
from lra.verbs.train_longer import FACTORS

TRAIN, TEST = 8_000, 4_000  # examples from which the counts of tokens are fitted, and on which they are tested
NEAR = 1.0  # points from 100 % or from the majority class
FILE, SEARCH = "probes", "probes_rates"
TABLE = f"table show sweep=probes run_group=published/{FILE}.jsonl"
SWEEP = (
    "sweep landmarks show task=recall protocol=clean run_group=published/probes_landmarks.jsonl"
    " attention.num_landmarks=2,4,8,16,32 attention.value_skip_taps=35,0"
)
BEFORE = "probes_before"
CHAIN = "each significantly better than the next"
CAPACITY, CAPACITY_SEARCH = "capacity", "capacity_rates"
OF_CAPACITY = f"sweep capacity show run_group=published/{CAPACITY}.jsonl"
BEYOND_LENGTH = "beyond_length"
RIDGE = 1.0  # added to the diagonal of the counts' products


def probes() -> str:
    """What each probe asks, its settings at size=full, and how much of it the counts of the tokens tell."""
    rows = []
    for task, file in _probes().items():
        spec = load_config("train", [f"task={task}"]).task.spec
        settings = ", ".join(f"{key} {value}" for key, value in _settings(task).items())
        asks = file["about"].removeprefix("probe: ")
        chance, counts = f"{100 / spec.num_classes:.0f} %", f"{100 * _by_counts(task):.0f} %"
        rows.append((f"`{task}`", asks, str(spec.seq_len), str(spec.num_classes), settings, chance, counts))
    return table(("probe", "what it asks", "tokens", "classes", "settings", "chance", "by counts"), rows)


def _probes() -> dict[str, dict[str, Any]]:
    """The YAML file of each probe, by its name."""
    return {task: file for task, file in choices("task").items() if is_probe(file)}


def _settings(task: str) -> dict[str, Any]:
    """The settings of a probe's function at size=full."""
    data = load_config("train", [f"task={task}"]).task.data
    declared = declared_by_class(_probes()[task]["open_source"]["generate"]["_target_"]).kinds
    return {key: data[key] for key in declared if key not in GIVEN}


@functools.cache
def _by_counts(task: str) -> float:
    """Predict the label by least squares from how often each token is in the sequence; the accuracy in [0, 1]."""
    generate = get_method(_probes()[task]["open_source"]["generate"]["_target_"])
    length = load_config("train", [f"task={task}"]).task.spec.seq_len
    parts = [
        generate(np.random.default_rng(seed), count, length=length, training=False, **_settings(task))
        for seed, count in enumerate((TRAIN, TEST))
    ]
    (train, of_train), (test, of_test) = ((_counts(part.tokens, len(part.words)), part.labels) for part in parts)
    targets = np.eye(of_train.max() + 1)[of_train]
    weights = np.linalg.solve(train.T @ train + RIDGE * np.eye(train.shape[1]), train.T @ targets)
    return float(((test @ weights).argmax(1) == of_test).mean())


def _counts(tokens: np.ndarray, words: int) -> np.ndarray:
    counts = np.zeros((len(tokens), words + 1))
    np.add.at(counts, (np.arange(len(tokens))[:, None], tokens), 1)
    counts[:, 0] = 1  # id 0 is padding, which no probe has; here a constant
    return counts


def shown() -> str:
    """How far each probe tells the methods apart, and how many of them stand at one of its ends."""
    found = by_task(FILE)
    apart = separation_by_task([record for of_task in found.values() for record in of_task])
    rows = []
    for task, of_task in found.items():
        made = cells(of_task)
        counts = 100 * _by_counts(task)
        at_top = [name for name, cell in made.items() if cell.central_value >= 100 - NEAR]
        by_counts = [name for name, cell in made.items() if cell.central_value <= counts + NEAR]
        told = counts >= 100 - NEAR  # by counts alone, so no accuracy is above them
        separation = apart[task]
        rows.append(
            (
                f"`{task}`",
                f"{separation.pairs} of {separation.compared}",
                _longest_chain(of_task),
                f"{len(at_top)} of {len(made)}",
                MISSING if told else f"{len(by_counts)} of {len(made)}",
            )
        )
    ends = ("within a point of 100 %", "no more than a point above counts")
    return table(("probe", "pairs told apart", CHAIN, *ends), rows)


def _longest_chain(of_task: list[Record]) -> str:
    """Write the most methods of which each is significantly better than the next one, of several chains the best's.

    A dash where no method is better than another.
    """
    seeds = seeds_of_rows(cells(of_task))
    pairs = significant_pairs(seeds)
    chains: list[list[str]] = []  # from each method downwards, the best method first
    for name in sorted(seeds, key=lambda name: sum(seeds[name]) / len(seeds[name])):
        below = [chain for chain in chains if Pair(name, chain[0]) in pairs]
        chains.insert(0, [name, *max(below, key=len, default=[])])
    longest = max(chains, key=len)
    return " > ".join(map(display_name, longest)) if len(longest) > 1 else MISSING


def before() -> str:
    """How far the probes told the methods apart with the settings that they had before."""
    rows = []
    for task, of_task in by_task(BEFORE).items():
        (separation,) = separation_by_task(of_task).values()
        data, recipe = of_task[0].settings["task"]["data"], of_task[0].settings["recipe"]
        settings = ", ".join(f"{key} {data[key]}" for key in _settings(task))
        apart = f"{separation.pairs} of {separation.compared}"
        rows.append((f"`{task}`", settings, f"{recipe['steps']:,}", apart, _longest_chain(of_task)))
    return table(("probe", "settings", "steps", "pairs told apart", CHAIN), rows)


def exact_beside_mamba2() -> str:
    """Say on which probes exact attention is better than Mamba-2, and on which it is worse, among all pairs there."""
    better, worse, unknown = "significantly better than Mamba-2", "significantly worse", "not to be told from it"
    without = "without a verdict, because only some seeds converged,"
    found: dict[str, list[str]] = {better: [], worse: [], unknown: [], without: []}
    for task, of_task in by_task(FILE).items():
        seeds = seeds_of_rows(cells(of_task))
        pairs = significant_pairs(seeds)
        if not {"full", "mamba2"} <= seeds.keys():
            found[without].append(f"`{task}`")
        elif Pair("full", "mamba2") in pairs:
            found[better].append(f"`{task}`")
        elif Pair("mamba2", "full") in pairs:
            found[worse].append(f"`{task}`")
        else:
            found[unknown].append(f"`{task}`")
    parts = [f"{how} on {joined(tasks)}" for how, tasks in found.items() if tasks]
    return prose(f"Here exact attention is {'; '.join(parts)}.")


def accuracies() -> str:
    """The accuracy of each method on each probe, with how many runs and hours that took."""
    took = _took(FILE, SEARCH, "the search partly beside other work")
    return f"{some_columns(TABLE, ['method', *by_task(FILE)])}\n\n{took}"


def _took(file: str, search: str, conditions: str) -> str:
    """Say how many runs and hours some published runs and the search before them took, and under which `conditions`."""
    finals, trials = records(file), records(search)
    return prose(
        f"{len(finals)} runs, {_hours(finals):.1f} hours of one core; the search of the rates before them:"
        f" {len(trials)} runs, {_hours(trials):.1f} hours. Two runs at a time, {conditions}."
    )


def _hours(found: list[Record]) -> float:
    return sum(record.train_seconds for record in found) / 3600


def capacity() -> str:
    """The sweep over the number of pairs to recall, with how many runs and hours that took."""
    return f"{table_printed(OF_CAPACITY)()}\n\n{_took(CAPACITY, CAPACITY_SEARCH, 'partly beside other work')}"


def landmarks() -> str:
    """The sweep over landmarks on recall, with and without the convolution of the values."""
    found: dict[int, dict[int, list[Record]]] = defaultdict(lambda: defaultdict(list))
    for record in records("probes_landmarks"):
        attention: Mapping[str, Any] = record.settings["attention"]
        if attention["name"] == "nystrom":
            found[attention["value_skip_taps"]][attention["num_landmarks"]].append(record)
    parts = []
    for taps, name in ((35, "with the convolution of the values"), (0, "without it")):
        made = {str(count): TableCell(members) for count, members in sorted(found[taps].items())}
        seeds = seeds_of_rows(made)
        differing, every = len(significant_pairs(seeds)), math.comb(len(seeds), 2)
        pairs = f"{differing} of {every} pairs of numbers of landmarks differ significantly"
        reached = ends(cell.central_value for cell in made.values())
        parts.append(f"{name} accuracies are {reached} %, and {pairs}")
    return f"{table_printed(SWEEP)()}\n\n{prose(f'{parts[0][:1].upper()}{parts[0][1:]}; {parts[1]}.')}"


def beyond_length() -> str:
    """The accuracies on sequences of the training's length, and on those twice and four times as long."""
    rows = []
    for task, of_task in by_task(BEYOND_LENGTH).items():
        for cell in cells(of_task).values():
            name, settings = cell.records[0].method, cell.records[0].settings
            length, positions = settings["task"]["data"]["seq_len"], settings["model"]["positions"]
            longer = [accuracy_on_longer(cell.records, factor * length) for factor in FACTORS]
            rows.append((f"`{task}`", display_name(name), positions, str(length), str(cell), *longer))
    return table(("probe", "method", "positions", "tokens", "accuracy (%)", "twice", "four times"), rows)
