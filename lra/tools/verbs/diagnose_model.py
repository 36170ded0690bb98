"""Measure how far a model's attention is from exact softmax attention, and write the page and the numbers."""

import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console

from lra.base.text import size_text, visible
from lra.data.store import verify_store
from lra.from_config.machine_and_loggers import check_loggers, wandb_run
from lra.run import Run
from lra.runs.files import DIAGNOSIS, DIAGNOSIS_PAGE
from lra.settings.command_options import Diagnose
from lra.settings.run_config import RunConfig
from lra.settings.wandb_arguments import names_of_training, wandb_arguments
from lra.settings.which_run import store_dir
from lra.terminal.console import check_writable, make_console, work_progress
from lra.terminal.figure_file import Drawn
from lra.terminal.fit_table import print_figure, print_prose, print_text_table
from lra.terminal.text_table import TextTable
from lra.tools.diagnosis.matrices import LayerInputs, attentions, layer_inputs
from lra.tools.diagnosis.measure import MatrixPair, measure_layer
from lra.tools.diagnosis.page import MOST_HEADS, drawings, write_diagnosis_page
from lra.tools.diagnosis.schema import DIAGNOSIS_VERSION, Diagnosis, DiagnosisSubject, Head, write_diagnosis
from lra.tools.diagnosis.sentences import HEAD_COLUMNS, all_heads, answer, heads_table, swaps_table
from lra.tools.diagnosis.subject import DiagnosedModel, dev_batches, diagnosed_model, is_nystrom, make_variants
from lra.tools.diagnosis.swap import LANDMARK_COUNTS, measure_swaps, substitutes
from lra.training.machine import Machine, prepare_machine
from lra.types import UserError

COUNT_COST, BATCH_COST = 0.1, 0.1  # seconds, roughly: of a number of landmarks for a matrix, of a batch


@dataclass(frozen=True, kw_only=True)
class Diagnosed:
    """The diagnosis of a model.

    Attributes:
        diagnosis: its numbers, and the sentences that answer.
        tables: of its heads and, of a trained model, of what replaces its attention, by name.
        figures: those that `figures=` asks for.
        files: the page, and the numbers as JSON.
    """

    diagnosis: Diagnosis
    tables: dict[str, TextTable]
    figures: list[Drawn]
    files: tuple[Path, Path]

    def show(self, console: Console) -> None:
        """Print figures, tables, the answer, and where the page is."""
        for figure in self.figures:
            print_figure(console, figure)
        for table in self.tables.values():
            print_text_table(console, table)
            console.print()
        for line in self.diagnosis["answer"]:
            print_prose(console, line)
        for path in self.files:
            console.print(f"{visible(str(path))}  {size_text(path.stat().st_size)}")


def diagnose_model(cfg: Diagnose, run: Run | None, *, to: Path | None, figures: Path | None) -> Diagnosed:
    """Diagnose a run, or a fresh model of the settings.

    Args:
        cfg: the configuration of `lra diagnose`.
        run: the run; None: a fresh model.
        to: the folder for the page and the numbers; None: the run's.
        figures: the folder for the figures; None: none are asked for.

    Raises:
        UserError: when a folder cannot be written, or what was typed does not fit the run.
    """
    if figures is not None:
        check_writable(figures, cfg.figures, "figures")
    prepare_machine(Machine(accelerator="cpu", threads=cfg.trainer.threads))  # not those that trained a run
    console = make_console()
    subject = diagnosed_model(cfg, run, console)
    if cfg.logs_to_wandb:  # now, not after minutes
        wandb_arguments(cfg, **wandb_names(subject.cfg), config={})
        check_loggers(cfg)
    if cfg.check:
        verify_store(store_dir(subject.cfg))
    folder = subject.folder if to is None else to
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise UserError(f"{folder} cannot be written; type another folder, for example to=diagnosis")
    diagnosis, pairs = diagnosis_of(subject, examples=cfg.examples, sequences=cfg.sequences, console=console)
    diagnosis["answer"] = answer(diagnosis)
    write_diagnosis(folder / DIAGNOSIS, diagnosis)
    page = write_diagnosis_page(folder / DIAGNOSIS_PAGE, diagnosis, pairs)
    drawn = []
    if figures is not None:
        figures.mkdir(parents=True, exist_ok=True)
        drawn = [draw(figures / f"diagnosis-{name}.png") for name, draw in drawings(diagnosis, pairs).items()]
    tables = {"heads": heads_table(diagnosis)}
    if diagnosis["swaps"]:
        tables["swaps"] = swaps_table(diagnosis)
    if cfg.logs_to_wandb:
        log_to_wandb(cfg, wandb_names(subject.cfg), diagnosis, tables, folder, console)
    return Diagnosed(diagnosis=diagnosis, tables=tables, figures=drawn, files=(page, folder / DIAGNOSIS))


def diagnosis_of(
    subject: DiagnosedModel, *, examples: int, sequences: int, console: Console
) -> tuple[Diagnosis, dict[str, MatrixPair]]:
    """Measure a model; also return the matrices for the heat maps.

    Accuracies are over at most `examples` dev examples, matrices of at most `sequences` sequences are compared.
    """
    cfg, data = subject.cfg, subject.data
    backends = attentions(subject.model, cfg.method_name)
    variants, num_landmarks = make_variants(cfg)
    (some,) = dev_batches(data, sequences, batch_size=sequences)
    layers = layer_inputs(subject.model, backends, some, sequences)
    batches = dev_batches(data, examples, batch_size=data.batch_size) if subject.is_trained else []
    counts = sum(count <= layers[0].q.shape[2] for count in LANDMARK_COUNTS)
    of_layers = counts * sum(inputs.q.shape[0] * inputs.q.shape[1] for inputs in layers)
    of_swaps = len(batches) * len(substitutes(backends[0], variants))
    with work_progress(console, of_layers * COUNT_COST + of_swaps * BATCH_COST) as advance:
        heads: list[list[Head]] = []
        pairs: dict[str, MatrixPair] = {}
        for number, inputs in enumerate(layers, start=1):
            turn = partial(advance, f"layer {number}", COUNT_COST)
            measured, matrices = measure_layer(inputs, variants, turn, kept=MOST_HEADS - len(pairs))
            heads.append(measured)
            pairs |= {f"layer {number}, head {position}": pair for position, pair in enumerate(matrices, start=1)}
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
        "run": _run_name(subject.folder, cfg.paths.runs) if subject.is_trained else None,
        "task": cfg.task.name,
        "attention": cfg.method_name,
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


def _run_name(folder: Path, runs: Path) -> str:
    """Name a run's folder without what is this machine's: from the folder of runs on, elsewhere its last part."""
    folder, runs = folder.resolve(), runs.resolve()
    return folder.relative_to(runs).as_posix() if folder.is_relative_to(runs) else folder.name


def wandb_names(subject: RunConfig) -> dict[str, Any]:
    """Name the W&B run of the diagnosis of a model with this configuration, for `wandb_arguments`."""
    of_training = names_of_training(subject)
    tags = ["diagnose", *of_training["tags"]]
    return {"name": f"{of_training['name']} diagnosis", "job_type": "diagnose", "tags": tags}


def log_to_wandb(
    cfg: RunConfig,
    names: dict[str, Any],
    diagnosis: Diagnosis,
    tables: dict[str, TextTable],
    folder: Path,
    console: Console,
) -> None:
    """Log a diagnosis as a W&B run of its own: the page, the tables, and the means over heads in the summary."""
    wandb_folder = folder / "diagnosis-wandb"  # not the run's own folder, whose W&B run is that of the training
    with wandb_run(cfg, wandb_folder, console, **names, config=dict(diagnosis["subject"])) as run:
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
            f"diagnosis/{name}": wandb.Table(columns=list(table.columns), data=list(table.rows))
            for name, table in tables.items()
        }
        run.log({**logged, "diagnosis/page": wandb.Html(folder / DIAGNOSIS_PAGE)})
        run.summary.update(numbers)
