"""Under which conditions runs were made, as titles and notes word them.

Tables and reports are grouped by protocol and size: runs of different ones are never in one row. Marks and notes tell
the origin of the data, the device, the precision, and settings that were not recorded.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from lra.runs.flat_settings import NOT_RECORDED
from lra.runs.published_numbers import PROTOCOLS, SIZES, TASKS
from lra.runs.schema import Record

SEVERAL = 3  # with more different numbers of steps, a title has only the smallest and the largest
LATER_SETTINGS = ("model", "recipe", "task.data", "task.dev_split", "trainer.accelerator")  # that older records lack
TESTED = "tested with the best checkpoint by dev accuracy"
MARKS = {"official": "", "unverified": "†", "pickle": "¶", "generated": "‡", "stand-in": "§", "own": ""}
MEANINGS = {
    "unverified": "† data not from the published archive",
    "pickle": "¶ data from the pickles of the Nyströmformer repository",
    "generated": "‡ data made by our own generator",
    "stand-in": "§ placeholder data: no result of that task",
}


def protocol_steps_and_size(records: Iterable[Record]) -> str:
    """Word protocol, steps and size of some records; empty without records."""
    records = list(records)
    if not records:
        return ""
    protocols = sorted({record.protocol for record in records})
    steps = sorted({record.steps for record in records})
    sizes = sorted({record.size for record in records})
    counts = [f"{count:,}" for count in steps]
    shown = _listed(counts) if len(counts) <= SEVERAL else f"{counts[0]} to {counts[-1]}"
    text = f"protocol {_listed(protocols)}, {shown} steps"
    return text if sizes == ["full"] else f"{text}, size={_listed(sizes)}: NOT the benchmark"


def _listed(texts: list[str]) -> str:
    """List words as a sentence does: `a, b and c`."""
    return " and ".join(filter(None, [", ".join(texts[:-1]), texts[-1]]))


def task_title(task: str, records: Iterable[Record]) -> str:
    """Word the title of a task's table."""
    return ", ".join(filter(None, [task, protocol_steps_and_size(records)]))


class ProtocolAndSize(NamedTuple):
    """The protocol and the size of some runs."""

    protocol: str
    size: str

    def __str__(self) -> str:
        """Name the kind, such as `Protocol paper, size short: NOT the benchmark`."""
        return f"Protocol {self.protocol}" + ("" if self.size == SIZES[0] else f", size {self.size}: NOT the benchmark")


def by_protocol_and_size(records: Iterable[Record]) -> dict[ProtocolAndSize, list[Record]]:
    """Group records by kind: the larger size first, and the paper's protocol before others."""
    groups: dict[ProtocolAndSize, list[Record]] = defaultdict(list)
    for record in records:
        groups[ProtocolAndSize(record.protocol, record.size)].append(record)
    return dict(sorted(groups.items(), key=lambda item: _rank(item[0])))


def _rank(group: ProtocolAndSize) -> tuple[object, ...]:
    """Sort known sizes and protocols in their order, and others behind them by name."""
    size, protocol = [*SIZES, group.size].index(group.size), [*PROTOCOLS, group.protocol].index(group.protocol)
    return size, protocol, group.size, group.protocol


def provenance_notes(records: list[Record]) -> list[str]:
    """Word the notes for the records of one task; no notes without records."""
    if not records:
        return []
    task = records[0].task
    origins = sorted({record.data_origin for record in records})
    devices = sorted({record.cost["device"] for record in records})
    placeholder = f" (placeholder data, not those of {task}: no result of that task)" if "stand-in" in origins else ""
    notes = [f"data: {', '.join(origins)}{placeholder}."]
    notes.append(f"Device: {'; '.join(devices)}, {', '.join(precisions(records))}; {TESTED}.")
    if any(record.settings["task"].get("dev_split") == "test" for record in records):
        whose = ", as the paper's" if task in TASKS else ""
        notes.append(f"The dev split is the test split{whose}.")
    return notes + stopped_notes(records) + search_notes(records) + unrecorded_notes(records)


def search_notes(records: Iterable[Record]) -> list[str]:
    """Word a note about the searches that have chosen options of the records; no note if there was none."""
    settings = [record.tuned for record in records if record.tuned is not None]
    searches = sorted({(each["budget"], each["space"], each["seed"]) for each in settings})
    texts = [f"{budget} trials of each method in the space {space}, seed {seed}" for budget, space, seed in searches]
    return [f"Tuned: the best configuration by dev accuracy of {'; of '.join(texts)}."] if texts else []


def stopped_notes(records: Iterable[Record]) -> list[str]:
    """Word a note about runs that a callback has ended early, which count with the others; no note if none was."""
    stopped = [(record.identity, step) for record in records if (step := record.outcome.get("stopped_step"))]
    each = [f"{run['task']}/{run['attention']} seed {run['seed']} at step {step:,}" for run, step in stopped]
    return [f"Ended early by a callback, and counted with the others: {'; '.join(each)}."] if each else []


def precisions(records: list[Record]) -> list[str]:
    """List the precisions of the records."""
    trainers = [record.settings.get("trainer") for record in records]
    return sorted({NOT_RECORDED if trainer is None else trainer["precision"] for trainer in trainers})


def unrecorded_notes(records: list[Record]) -> list[str]:
    """Word a note about settings that older records do not hold; no note if all records hold them."""
    times = Counter(", ".join(_missing(record)) for record in records)
    counts = [f"{count} of {len(records)} records lack {missing}" for missing, count in times.items() if missing]
    return [f"Settings that were {NOT_RECORDED}: {'; '.join(counts)}."] if counts else []


def _missing(record: Record) -> list[str]:
    settings = record.settings
    groups = {"task": settings["task"], "trainer": settings.get("trainer", {})}
    held = {*settings, *(f"{group}.{key}" for group, options in groups.items() for key in options)}
    return [setting for setting in LATER_SETTINGS if setting not in held]


def without_stand_ins(records: Iterable[Record]) -> list[Record]:
    """Leave out runs of `size=full` on placeholder data."""
    return [record for record in records if record.size != "full" or record.data_origin != "stand-in"]


def origin_notes(records: list[Record], *, left_out: int) -> list[str]:
    """Say what the marks of some records mean, and how many runs were left out."""
    origins = sorted({record.data_origin for record in records} & set(MEANINGS), key=[*MEANINGS].index)
    notes = [f"{'; '.join(MEANINGS[origin] for origin in origins)}."] if origins else []
    return notes + ([f"{left_out} records on placeholder data are left out."] if left_out else [])
