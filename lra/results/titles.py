"""Word the titles of tables and figures: protocol, size and steps of their records."""

from __future__ import annotations

from collections.abc import Iterable

from lra.results.schema import Record

SEVERAL = 3  # with more different numbers of steps, a title has only the smallest and the largest


def holding(records: Iterable[Record]) -> str:
    """Word protocol, steps and size of some records; empty without records."""
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
    """Word the title of a task's table."""
    return ", ".join(filter(None, [task, holding(records)]))
