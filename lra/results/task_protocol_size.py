"""Sort records into kinds, by protocol and size: runs of different kinds are never in one row of a table."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from lra.runs.schema import Record

SIZES = ("full", "short", "tiny")  # the benchmark first; sizes of the user's own come last
PROTOCOLS = ("paper", "clean")


class Kind(NamedTuple):
    """The protocol and the size of some runs."""

    protocol: str
    size: str

    def __str__(self) -> str:
        """Name the kind, such as `Protocol paper, size short: NOT the benchmark`."""
        return f"Protocol {self.protocol}" + ("" if self.size == SIZES[0] else f", size {self.size}: NOT the benchmark")


def by_kind(records: Iterable[Record]) -> dict[Kind, list[Record]]:
    """Group records by kind: the larger size first, and the paper's protocol before others."""
    kinds: dict[Kind, list[Record]] = defaultdict(list)
    for record in records:
        kinds[Kind(record["identity"]["protocol"], record["identity"]["size"])].append(record)
    return dict(sorted(kinds.items(), key=lambda item: _rank(item[0])))


def _rank(kind: Kind) -> tuple[object, ...]:
    size, protocol = (
        known.index(name) if name in known else len(known)
        for known, name in ((SIZES, kind.size), (PROTOCOLS, kind.protocol))
    )
    return size, protocol, kind.size, kind.protocol
