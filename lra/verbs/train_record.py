"""Files that a run writes beside its checkpoints: the hashes of its data, its learning curve, its record."""

import json
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Any

import torch
from rich.console import Console
from torch import nn

from lra.base.checked_json import parsed_json
from lra.base.files import read_file, replace_text
from lra.base.processes import WARNING, is_out_of_memory
from lra.data.datamodule import StoreDataModule
from lra.from_config import machine_and_loggers
from lra.run import Run
from lra.runs.files import CODE, CURVE, DATA, LAST, METRICS, PRETRAINING, RESULT, WANDB_ID
from lra.runs.published_numbers import published_accuracy_for
from lra.runs.record import pack_correct, validated
from lra.runs.schema import SCHEMA_VERSION, Pretraining, Record
from lra.runs.settings_hash import hash_of
from lra.runs.versions import git_commit, versions
from lra.settings.pretrain import stage_config
from lra.settings.run_config import RunConfig
from lra.settings.which_run import hashed_settings
from lra.training.approximation import measure_approximation
from lra.training.curves import read_curves
from lra.training.run import RunOutcome
from lra.types import Batch, UserError
from lra.verbs.train_figure import learning_curve


def check_same_data(run: Run, data_sha256: dict[str, str]) -> None:
    """Note the hashes of the data for a new run; refuse to resume a run on other data.

    Raises:
        UserError: when the data changed since the run began, or its note cannot be read.
    """
    path = run.folder / DATA
    if not path.exists() or not _has_checkpoint(run):
        replace_text(path, json.dumps(data_sha256, indent=2) + "\n")
        return
    remedy = f"if the run began with today's data, delete that file, else move {run.folder} away"
    if parsed_json(read_file(path), path, remedy) != data_sha256:
        line = f"the data changed since {run.folder} was begun; bring the old store back, or move that folder away"
        raise UserError(line)


def _has_checkpoint(run: Run) -> bool:
    """Tell whether there is a checkpoint to resume from, of either stage."""
    return any((run.folder / path).exists() for path in (LAST, f"{PRETRAINING}/{LAST}"))


def note_commit(run: Run) -> None:
    """Add the commit of the code that trains from here on to those of a resumed run.

    It is read now, and not at the end: the checkout may be another one by then.
    """
    commit = git_commit()
    earlier = _commits(run) if _has_checkpoint(run) else []
    if earlier[-1:] != [commit]:
        replace_text(run.folder / CODE, json.dumps([*earlier, commit]) + "\n")


def _commits(run: Run) -> list[str | None]:
    """Read the noted commits; none of a run that was begun before they were noted, or if the note is damaged."""
    try:
        noted = parsed_json(read_file(run.folder / CODE), run.folder / CODE, "")
    except (FileNotFoundError, UserError):
        return []
    return noted if isinstance(noted, list) and all(each is None or isinstance(each, str) for each in noted) else []


def write_result(
    run: Run,
    cfg: RunConfig,
    outcome: RunOutcome,
    datamodule: StoreDataModule,
    console: Console,
    *,
    pretraining: Pretraining | None = None,
) -> Record:
    """Write the learning curve, then `result.json`, and return the record."""
    settings, majority = hashed_settings(cfg), datamodule.majority_rate("test")
    *earlier, commit = _commits(run) or [git_commit()]
    record = validated(
        {
            "schema_version": SCHEMA_VERSION,
            "identity": cfg.identity,
            "settings": settings,
            "outcome": {
                "test_accuracy": outcome.test_accuracy,
                "test_loss": outcome.test_loss,
                "test_correct": pack_correct(outcome.test_correct),
                "confusion": outcome.confusion,
                "test_examples": len(outcome.test_correct),
                "train_examples": datamodule.num_examples("train"),
                "dev_examples": datamodule.num_examples("dev"),
                "best_dev_accuracy": outcome.best_dev_accuracy,
                "best_step": outcome.best_step,
                **({"stopped_step": outcome.trained_steps} if outcome.trained_steps < cfg.recipe.steps else {}),
                "dev_curve": outcome.dev_curve,
                "steps": cfg.recipe.steps,
                "majority_rate": majority,
            },
            "cost": {
                "parameters": outcome.parameters,
                "train_seconds": outcome.train_seconds,
                "steps_per_second": outcome.trained_steps / outcome.train_seconds,
                "peak_memory_bytes": outcome.peak_memory_bytes,
                "batch_parts": outcome.batch_parts,
                "device": machine_and_loggers.device_name(cfg),
                **({"gpus": gpus} if (gpus := machine_and_loggers.gpus_of_run(cfg)) else {}),
            },
            **({"pretraining": pretraining} if pretraining else {}),
            "provenance": {
                "git_commit": commit,
                **({"earlier_commits": earlier} if earlier else {}),
                "config_hash": hash_of(settings),
                "data_sha256": datamodule.data_sha256,
                "data_origin": datamodule.origin,
                **({"data_source": files} if (files := datamodule.source_files) else {}),
                "data_check": "sha256" if cfg.check else "structure",
                "versions": versions(),
                "wandb_id": read_file(wandb_id).decode() if (wandb_id := run.folder / WANDB_ID).exists() else None,
                "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
            },
        },
        run.folder / RESULT,
    )
    drawn = learning_curve(
        read_curves(run.folder / METRICS),
        run.folder / CURVE,
        title="{task} / {attention}, {protocol}, {size}, seed {seed}".format(**record.identity),
        majority_rate=majority,
        paper_accuracy=published_accuracy_for(record, "paper"),
    )
    written = run.write(record)
    for line in drawn.left_out:
        console.print(line)
    return written


def add_approximation(
    record: Record,
    run: Run,
    model: nn.Module,
    open_batches: Callable[[], Iterable[Batch]],
    device: torch.device,
    console: Console,
) -> Record:
    """Measure the errors of a trained model's Nyström layers, and add them to the record, which the run has already."""

    def measure() -> dict[str, Any]:
        measured = measure_approximation(model.to(device), open_batches(), device)
        return {} if measured is None else {"approximation": measured}

    return add_measured(record, run, measure, console, what="the errors of the attention matrices")


def add_flops(record: Record, run: Run, cfg: RunConfig, console: Console) -> Record:
    """Count the FLOPs of both stages of a pretrained run, and add them to the record, which the run has already."""
    if (first := record.pretraining) is None:
        return record

    def count() -> dict[str, Any]:
        from lra.from_config.step_flops import count_pretraining_step_flops, count_step_flops

        source = first.get("taken_from")
        flops = source["flops"] if source else first["steps"] * count_pretraining_step_flops(stage_config(cfg))
        after = record.outcome.get("stopped_step", record.steps) * count_step_flops(cfg)
        return {"pretraining": {**first, "flops": flops, "flops_after": after}}

    return add_measured(record, run, count, console, what="the FLOPs of both stages")


def add_measured(
    record: Record, run: Run, measure: Callable[[], dict[str, Any]], console: Console, *, what: str
) -> Record:
    """Add fields to the record of a finished run, unless `measure` returns none.

    After an error of any kind, print a line and leave the record as it is: the run is finished all the same.
    """
    try:
        measured = measure()
        return run.write({**record, **measured}) if measured else record
    except Exception as error:
        first_line = next(iter(str(error).splitlines()), "")
        problem = "out of memory" if is_out_of_memory(error) else f"{type(error).__name__}: {first_line}"
    console.print(f"{WARNING}{what} could not be measured ({problem}); the result is kept.")
    return record
