"""Protocol and size of runs: tables and reports are grouped by them, and titles word them.

Runs of different ones are never in one row of a table.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from lra.runs.schema import Record, own_model

SEVERAL = 3  # with more different numbers of steps, a title has only the smallest and the largest
SIZES = ("full", "short", "tiny")  # the benchmark first; sizes of the user's own come last
PROTOCOLS = ("paper", "clean", "s4")


def protocol_steps_and_size(records: Iterable[Record]) -> str:
    """Word protocol, steps and size of some records; empty without records."""
    records = list(records)
    if not records:
        return ""
    protocols = sorted({record["identity"]["protocol"] for record in records})
    steps = sorted({record["outcome"]["steps"] for record in records})
    sizes = sorted({record["identity"]["size"] for record in records})
    counts = [f"{count:,}" for count in steps]
    shown = _listed(counts) if len(counts) <= SEVERAL else f"{counts[0]} to {counts[-1]}"
    text = f"protocol {_listed(protocols)}, {shown} steps"
    return text if sizes == ["full"] else f"{text}, size={_listed(sizes)}: NOT the benchmark"


def _listed(words: list[str]) -> str:
    """List words as a sentence does: `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def task_title(task: str, records: Iterable[Record]) -> str:
    """Word the title of a task's table."""
    return ", ".join(filter(None, [task, protocol_steps_and_size(records)]))


def method_column(records: Iterable[Record]) -> str:
    """The head of the column that names rows: `attention` if every row is one, else the field's word for all, `method`.

    A mixer in the attention's place is none, and a model of the user's own need not use the attention that it is given.
    """
    settings = (record["settings"] for record in records)
    all_attentions = all("attention" in own and not own_model(own.get("model", {})) for own in settings)
    return "attention" if all_attentions else "method"


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
        groups[ProtocolAndSize(record["identity"]["protocol"], record["identity"]["size"])].append(record)
    return dict(sorted(groups.items(), key=lambda item: _rank(item[0])))


def _rank(group: ProtocolAndSize) -> tuple[object, ...]:
    size, protocol = (
        known.index(name) if name in known else len(known)
        for known, name in ((SIZES, group.size), (PROTOCOLS, group.protocol))
    )
    return size, protocol, group.size, group.protocol
