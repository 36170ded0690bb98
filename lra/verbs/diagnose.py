"""lra diagnose: how far a model's attention is from exact softmax attention, and whether that matters to the model.

  lra diagnose run=a1b9200f                                  the run whose settings have this hash (lra show runs)
  lra diagnose run=a1b9200f seed=0                           where several seeds have these settings
  lra diagnose run=a1b9200f seed=0 examples=200 to=diagnosis
  lra diagnose run=a1b9200f seed=0 logger=wandb
  lra diagnose task=listops attention=nystrom size=tiny      a fresh model, without accuracies

run= is a hash (or its first digits), GROUP/HASH, or a run's folder. For each layer and head, on sequences of the dev
split, it measures: errors of the attention matrix and of its output, also against the number of landmarks; ranks; the
condition number and the pseudo-inverse of Nyström's landmark kernel; heat maps. Then it replaces the attention of the
trained model by exact attention, by Nyström attention with other numbers of landmarks, and by no attention, and
measures the dev accuracy of each, without training.

Writes diagnosis.html and diagnosis.json to the run's folder; docs/diagnosis.md explains the numbers. It computes on
the CPU in float32, with trainer.threads=N threads. check=true compares the data with its hashes first.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lra.types import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig


def run(cfg: DictConfig) -> None:
    """Diagnose a run or a fresh model."""
    from hydra.core.hydra_config import HydraConfig

    from lra.base.text import visible
    from lra.data.store import verify_store
    from lra.diagnosis.page import write_diagnosis_page
    from lra.diagnosis.run_diagnosis import diagnosis_of, log_to_wandb
    from lra.diagnosis.schema import write_diagnosis
    from lra.diagnosis.sentences import answer, heads_table, swaps_table
    from lra.diagnosis.subject import check_effect, diagnosed_model
    from lra.runs.files import DIAGNOSIS, DIAGNOSIS_PAGE
    from lra.settings.config import logs_to_wandb, store_dir
    from lra.terminal.console import make_console, size_text
    from lra.terminal.fit_table import print_prose, print_text_table
    from lra.training.machine import Machine, prepare_machine

    overrides = HydraConfig.get().overrides.task
    check_effect(overrides, of_a_run=cfg.run is not None)
    if cfg.examples < 1:
        raise UserError(f"examples={cfg.examples}, but accuracies need some; type for example examples=1000")
    _check_to(cfg.to)
    threads = cfg.trainer.threads  # of this machine, not of the one that trained a run
    machine = Machine(accelerator="cpu", devices=1, precision="32-true", accumulate_grad_batches=1, threads=threads)
    prepare_machine(machine)
    console = make_console()
    seed = cfg.seed if any(override.startswith("seed=") for override in overrides) else None
    subject = diagnosed_model(cfg, console, seed=seed)
    if cfg.check:
        verify_store(store_dir(subject.cfg))
    folder = _writable(subject.folder if cfg.to is None else Path(cfg.to).expanduser())
    diagnosis, pairs = diagnosis_of(subject, examples=cfg.examples, sequences=cfg.sequences, console=console)
    write_diagnosis(folder / DIAGNOSIS, diagnosis)
    page = write_diagnosis_page(folder / DIAGNOSIS_PAGE, diagnosis, pairs)
    tables = [heads_table(diagnosis), *([swaps_table(diagnosis)] if diagnosis["swaps"] else [])]
    for table in tables:
        print_text_table(console, table)
        console.print()
    for line in answer(diagnosis):
        print_prose(console, line)
    for path in (page, folder / DIAGNOSIS):
        console.print(f"{visible(str(path))}  {size_text(path.stat().st_size)}")
    if logs_to_wandb(cfg):
        log_to_wandb(cfg, diagnosis, tables, folder, console)


def _check_to(to: str | None) -> None:
    """Refuse what cannot be a folder, before anything is measured."""
    if to is not None and Path(to).expanduser().exists() and not Path(to).expanduser().is_dir():
        raise UserError(f"to={to} is a file; type a folder, for example to=diagnosis")


def _writable(folder: Path) -> Path:
    """Make the folder, before anything is measured."""
    folder.mkdir(parents=True, exist_ok=True)
    if not os.access(folder, os.W_OK):
        raise UserError(f"{folder} cannot be written; type another folder, for example to=diagnosis")
    return folder
