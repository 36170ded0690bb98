"""Published accuracies and their sources, tolerances, and how a run's settings differ from the paper's.

Only a run without differences is compared with the paper. The paper's settings are in `paper_settings.json`, those of a
protocol with models and recipes of its own in `PROTOCOL_settings.json`, by task. They are facts, so they are not read
from `conf/`: a changed default there must not redefine which runs are the paper's. A test compares the files with the
settings of `lra train task=T attention=A protocol=paper size=full`, so that neither can change alone;
`make renew ONLY=settings` writes them.
"""

import functools
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from lra.runs.flat_settings import NOT_RECORDED, FlatSettings, branches, flatten
from lra.runs.schema import Record

TASKS = ("listops", "text", "retrieval", "image", "pathfinder")
SIZES = ("full", "short", "tiny")  # the benchmark first; sizes of the user's own come last
PROTOCOLS = ("paper", "clean", "s4")

# By source: what it is, and accuracies in percent and their standard deviations over seeds, in points, by method in the
# order of TASKS; where there is one more, it is Path-X's.
_PUBLISHED = json.loads(Path(__file__).with_name("published_accuracies.json").read_text("utf-8"))
SOURCES: dict[str, str] = {name: source["source"] for name, source in _PUBLISHED.items()}


def _by_task(rows: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    return {method: dict(zip((*TASKS, "pathx"), row, strict=False)) for method, row in rows.items()}


REFERENCES = {name: _by_task(source["accuracies"]) for name, source in _PUBLISHED.items()}
REFERENCE_STDS = {name: _by_task(source.get("stds", {})) for name, source in _PUBLISHED.items()}
PAPER = REFERENCES["paper"]

# Test examples of the benchmark's tasks; they determine the noise of a published average.
TEST_EXAMPLES = {"listops": 2000, "text": 25_000, "retrieval": 17_437, "image": 10_000, "pathfinder": 20_000}

# Tolerance: the largest difference from the paper's accuracy that counts as reproduced, in points; chosen beforehand,
# as wide as what other labs' tables usually differ by.
TOLERANCE_POINTS: dict[str, float] = {"listops": 2.0, "text": 2.5, "retrieval": 1.5, "image": 2.0, "pathfinder": 4.0}


def in_benchmark_order(tasks: Iterable[str]) -> tuple[str, ...]:
    """Put tasks into the order of the benchmark's table, each once; other tasks come last, by name."""
    given = set(tasks)
    return *(task for task in TASKS if task in given), *sorted(given - set(TASKS))


def paper_accuracy(attention: str, task: str) -> float | None:
    """Return the paper's accuracy in percent, or None if the paper has no such run."""
    return PAPER.get(attention, {}).get(task)


FAMILIES = ("s4",)  # protocols with a file of settings of their own
SETS_BY_TASK = ("model", "mixer")  # groups in which such a protocol sets options for each task
NOT_SET = ("model.positions",)  # which depend on the mixer
FAMILY_PRECISION = "32-true"
PRECISIONS = ("32-true", "16-mixed")  # our default, and that of the released code
# A run may differ here: only rounding and random draws change, or it is not certain which of both the paper's runs had.
NOT_COMPARED = ("trainer.accelerator", "trainer.compile", "trainer.fused_optimizer", "task.listops_brackets")
# Keys of a protocol that are compared. All other switches are compared through the settings of the attention, model or
# task that use them, so that a switch of Performer does not matter for a run of Nyström.
ACTING_ALONE = ("name", "test_last_batch", "pixels", "text_symbols", "end_token", "padding")


@functools.cache
def settings_file(protocol: str) -> dict[str, Any]:
    """Read the file with the settings of a protocol's runs."""
    settings: dict[str, Any] = json.loads(Path(__file__).with_name(f"{protocol}_settings.json").read_text("utf-8"))
    return settings


def paper_settings(task: str, attention: str) -> dict[str, Any] | None:
    """Build the settings of the paper's run in the form of a record; None if the paper has no such run."""
    parts = settings_file("paper")
    if task not in parts["task"] or attention not in parts["attention"]:
        return None
    chosen = {group: parts[group] for group in ("protocol", "model", "size", "trainer")}
    return chosen | {
        "task": parts["task"][task],
        "recipe": parts["recipe"][task],
        "attention": parts["attention"][attention],
    }


def paper_attention(attention: str) -> dict[str, Any]:
    """The options that the paper's runs give an attention, which are its defaults; empty for one it does not have."""
    options: dict[str, Any] = settings_file("paper")["attention"].get(attention, {})
    return options


def deviations_from_paper(record: Record) -> list[str]:
    """List in words how a run differs from the paper's; the list is empty for the paper's own settings and data.

    The precision may be float32 or the released code's fp16, the machine any. A setting that was not recorded counts
    as a difference; such settings come last, whole groups first.
    """
    identity, origin = record.identity, record.data_origin
    if identity["size"] != "full":
        return [f"size={identity['size']}"]
    if origin == "stand-in":
        return ["stand-in data"]
    papers = paper_settings(identity["task"], identity["attention"])
    if papers is None:
        return ["not in the paper"]
    ours, theirs = _compared(record.settings), _compared(papers)
    free = {*NOT_COMPARED, *(("trainer.precision",) if ours.get("trainer.precision") in PRECISIONS else ())}
    differences = [
        f"{key}={value}" + (f" for {theirs[key]}" if key in theirs else "")
        for key, value in ours.items()
        if key not in free and theirs.get(key) != value
    ]
    examples, tested = TEST_EXAMPLES[identity["task"]], record.outcome["test_examples"]
    if tested != examples:
        differences.append(f"{tested:,} test examples for {examples:,}")
    missing = branches([key for key in theirs if key not in ours and key not in free], ours)
    return differences + [
        f"{key} {NOT_RECORDED}" for key in sorted(missing, key=lambda key: (key.count("."), "._" in key, key))
    ]


def shorten(reasons: Sequence[str], *, most: int) -> str:
    """Word deviations in short: the first `most` different settings, and the first `most` that were not recorded."""
    suffix = f" {NOT_RECORDED}"
    different = [reason for reason in reasons if not reason.endswith(suffix)]
    missing = [reason.removesuffix(suffix) for reason in reasons if reason.endswith(suffix)]
    parts = [_few(different, most)] if different else []
    return "; ".join(parts + ([f"{NOT_RECORDED}: {_few(missing, most)}"] if missing else []))


def _few(texts: Sequence[str], most: int) -> str:
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")


def _compared(settings: Mapping[str, Any]) -> FlatSettings:
    """Flatten those settings that decide whether a run is the paper's."""
    protocol = {key: value for key, value in settings["protocol"].items() if key in ACTING_ALONE}
    return flatten({**settings, "protocol": protocol})


def family_settings(protocol: str, task: str) -> Mapping[str, Any] | None:
    """Return the settings of the method whose accuracies are published; None for another protocol or task."""
    return settings_file(protocol).get(task) if protocol in FAMILIES else None


def published_in_family(record: Record, reference: str) -> tuple[float | None, float | None]:
    """Return the accuracy, in percent, and its standard deviation over seeds that a source has for a run's settings.

    Both are None for stand-in data, and unless the settings are the source's, but for the machine and for the
    initialisation, which names the row of the source's table, such as `s4d (init=inv)`.
    """
    settings, identity = cast(dict[str, Any], record.settings), record.identity
    theirs = family_settings(reference, identity["task"])
    if theirs is None or record.data_origin == "stand-in" or "mixer" not in settings:
        return None, None
    init = settings["mixer"].get("init")
    expected = {**theirs, "mixer": {**theirs["mixer"], "init": init}}
    same = {**settings, "trainer": None} == {**expected, "trainer": None}
    if not same or settings["trainer"].get("precision") != FAMILY_PRECISION:
        return None, None
    row = identity["attention"] + ("" if init == theirs["mixer"]["init"] else f" (init={init})")
    accuracy, std = (table[reference].get(row, {}).get(identity["task"]) for table in (REFERENCES, REFERENCE_STDS))
    return accuracy, std


def published_accuracy_for(record: Record, reference: str) -> float | None:
    """Return the published accuracy, in percent, to show beside a run; None if there is none.

    The paper's accuracy is shown only for runs with the paper's settings, and so is that of a source with a protocol of
    its own. Other sources have other settings anyway, so their accuracies are shown, for information, for all runs of
    size=full with the paper's model on the task's data.
    """
    identity = record.identity
    if family_settings(reference, identity["task"]) is not None:
        return published_in_family(record, reference)[0]
    if reference == "paper":
        return None if deviations_from_paper(record) else paper_accuracy(identity["attention"], identity["task"])
    papers = settings_file("paper")
    whole = identity["size"] == "full" and record.data_origin != "stand-in"
    if not whole or identity["task"] not in papers["task"] or record.settings.get("model") != papers["model"]:
        return None
    return REFERENCES[reference].get(identity["attention"], {}).get(identity["task"])
