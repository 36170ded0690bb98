"""Word the titles and column heads of tables and figures: what their records have in common."""

from __future__ import annotations

from collections.abc import Iterable

from lra.runs.schema import Record, own_model

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
    shown = _listed(counts) if len(counts) <= SEVERAL else f"{counts[0]} to {counts[-1]}"
    text = f"protocol {_listed(protocols)}, {shown} steps"
    return text if sizes == ["full"] else f"{text}, size={_listed(sizes)}: NOT the benchmark"


def _listed(words: list[str]) -> str:
    """List words as a sentence does: `a, b and c`."""
    return " and ".join(filter(None, [", ".join(words[:-1]), words[-1]]))


def title_of(task: str, records: Iterable[Record]) -> str:
    """Word the title of a task's table."""
    return ", ".join(filter(None, [task, holding(records)]))


def method_head(records: Iterable[Record]) -> str:
    """The head of the column that names rows: `attention` if every row is one, else the field's word for all, `method`.

    A mixer in the attention's place is none, and a model of the user's own need not use the attention that it is given.
    """
    every = (record["settings"] for record in records)
    return "attention" if all("attention" in own and not own_model(own.get("model", {})) for own in every) else "method"
