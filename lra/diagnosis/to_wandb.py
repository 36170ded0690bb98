"""Log a diagnosis to a W&B run."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from lra.diagnosis.schema import Diagnosis
from lra.diagnosis.sentences import HEAD_COLUMNS, all_heads
from lra.results.tables import TextTable

if TYPE_CHECKING:
    import wandb

TABLES = ("heads", "swaps")


def log_diagnosis(run: wandb.Run, diagnosis: Diagnosis, tables: list[TextTable], page: Path) -> None:
    """Add the page and the tables to a W&B run, and numbers to its summary: means over heads, and accuracies."""
    import wandb

    heads = all_heads(diagnosis)
    numbers = {
        f"diagnosis/{key}": sum(head[key] for head in heads) / len(heads)  # type: ignore[literal-required]
        for key in HEAD_COLUMNS
        if all(head[key] is not None for head in heads)  # type: ignore[literal-required]
    }
    for swap in diagnosis["swaps"]:
        count = swap["num_landmarks"]
        numbers[f"accuracy/{swap['name']}{'' if count is None else f' {count}'}"] = swap["accuracy"]
    logged = {
        f"diagnosis/{name}": wandb.Table(columns=list(table.columns), data=table.rows)
        for name, table in zip(TABLES, tables, strict=False)
    }
    run.log({**logged, "diagnosis/page": wandb.Html(page)})
    run.summary.update(numbers)
