"""Measure what `lra diagnose` shows, with its progress, and log it to W&B."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from omegaconf import DictConfig
from rich.console import Console

from lra.build.trainer import wandb_run
from lra.diagnosis.figures import MOST_HEADS
from lra.diagnosis.matrices import LayerInputs, attentions, layer_inputs
from lra.diagnosis.measure import MatrixPair, measure_layer
from lra.diagnosis.schema import DIAGNOSIS_VERSION, Diagnosis, DiagnosisSubject, Head
from lra.diagnosis.sentences import HEAD_COLUMNS, all_heads
from lra.diagnosis.subject import DiagnosedModel, dev_batches, is_nystrom, make_variants
from lra.diagnosis.swap import LANDMARK_COUNTS, measure_swaps, substitutes
from lra.results.tables import TextTable
from lra.runs.files import DIAGNOSIS_PAGE
from lra.settings import config
from lra.terminal.console import work_progress

if TYPE_CHECKING:
    import wandb

COUNT_COST, BATCH_COST = 2.0, 0.1  # seconds, roughly: of a number of landmarks in a layer, of a batch
TABLES = ("heads", "swaps")


def diagnosis_of(
    subject: DiagnosedModel, *, examples: int, sequences: int, console: Console
) -> tuple[Diagnosis, dict[str, MatrixPair]]:
    """Measure a model; also return the matrices for the heat maps.

    Accuracies are over at most `examples` dev examples, matrices of at most `sequences` sequences are compared.

    Raises:
        UserError: when the model has no attention to compare.
    """
    cfg, data = subject.cfg, subject.data
    backends = attentions(subject.model, config.method_name(cfg))
    variants, num_landmarks = make_variants(cfg)
    (some,) = dev_batches(data, sequences, batch_size=sequences)
    layers = layer_inputs(subject.model, backends, some, sequences)
    batches = dev_batches(data, examples, batch_size=data.batch_size) if subject.is_trained else []
    of_layers = len(layers) * sum(count <= layers[0].q.shape[2] for count in LANDMARK_COUNTS)
    of_swaps = len(batches) * len(substitutes(backends[0], variants))
    with work_progress(console, of_layers * COUNT_COST + of_swaps * BATCH_COST) as advance:
        heads: list[list[Head]] = []
        pairs: dict[str, MatrixPair] = {}
        for number, inputs in enumerate(layers, start=1):
            turn = partial(advance, f"layer {number}", COUNT_COST)
            measured, matrices = measure_layer(inputs, variants, turn, kept=MOST_HEADS - len(pairs))
            heads.append(measured)
            pairs |= {f"layer {number}, head {place}": pair for place, pair in enumerate(matrices, start=1)}
        swaps = []
        if batches:
            swaps = measure_swaps(
                subject.model, backends, variants, batches, lambda name: advance(f"accuracy: {name}", BATCH_COST)
            )
    whole = _subject(subject, layers[0], num_landmarks, examples=sum(len(batch.label) for batch in batches))
    diagnosis = Diagnosis(version=DIAGNOSIS_VERSION, subject=whole, layers=heads, swaps=swaps)
    return diagnosis, pairs


def _subject(subject: DiagnosedModel, first: LayerInputs, num_landmarks: int, *, examples: int) -> DiagnosisSubject:
    """Name the model, and say on how much it was measured."""
    cfg, labels = subject.cfg, subject.data.splits["dev"].labels
    return {
        "run": _place_of(subject.folder, Path(cfg.paths.runs)) if subject.is_trained else None,
        "task": cfg.task.name,
        "attention": config.method_name(cfg),
        "protocol": cfg.protocol.name,
        "size": cfg.size.name,
        "seed": cfg.seed,
        "is_nystrom": is_nystrom(cfg),
        "num_landmarks": num_landmarks,
        "sequences": len(first.valid),
        "tokens": float(first.valid.sum(1).float().mean()),
        "examples": examples,
        "majority_rate": float(np.unique(labels, return_counts=True)[1].max() / len(labels)),
    }


def _place_of(folder: Path, runs: Path) -> str:
    """Name a run's folder without what is this machine's: from the folder of runs on, elsewhere its last part."""
    folder, runs = folder.resolve(), runs.resolve()
    return folder.relative_to(runs).as_posix() if folder.is_relative_to(runs) else folder.name


def log_to_wandb(
    cfg: DictConfig, diagnosis: Diagnosis, tables: list[TextTable], folder: Path, console: Console
) -> None:
    """Log a diagnosis as a W&B run of its own: the page, the tables, and the means over heads in the summary."""
    subject = diagnosis["subject"]
    name = f"{subject['task']}/{subject['attention']}/{subject['seed']} diagnosis"
    place = folder / "diagnosis-wandb"  # not the run's own folder, whose W&B run is that of the training
    tags = ["diagnose", subject["task"], subject["attention"], subject["protocol"], subject["size"]]
    with wandb_run(cfg, place, console, name=name, job_type="diagnose", tags=tags, config=dict(subject)) as run:
        log_diagnosis(run, diagnosis, tables, folder / DIAGNOSIS_PAGE)


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
