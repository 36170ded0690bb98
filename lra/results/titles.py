"""Titles of tables and figures: protocol, size and steps of the records in them."""

from __future__ import annotations

from collections.abc import Iterable

from lra.results.schema import Record

SEVERAL = 3  # different numbers of steps that are all named


def holding(records: Iterable[Record]) -> str:
    """Protocol, steps and size of some records, as they say themselves; empty for none."""
    records = list(records)
    if not records:
        return ""
    protocols = sorted({record["identity"]["protocol"] for record in records})
    steps = sorted({record["outcome"]["steps"] for record in records})
    sizes = sorted({record["identity"]["size"] for record in records})
    counts = [f"{count:,}" for count in steps]
    shown = " and ".join(counts) if len(counts) <= SEVERAL else f"{counts[0]} to {counts[-1]}"
    text = f"protocol {' and '.join(protocols)}, {shown} steps"
    return text if sizes == ["full"] else f"{text}, size={' and '.join(sizes)}: NOT the benchmark"


def title_of(task: str, records: Iterable[Record]) -> str:
    """A title for a task's table."""
    return ", ".join(filter(None, [task, holding(records)]))
