"""lra diagnose: how far a model's attention is from exact softmax attention, and whether that matters to the model.

  lra diagnose run=a1b9200f                                  the run whose settings have this hash (lra show runs)
  lra diagnose run=a1b9200f seed=0                           where several seeds have these settings
  lra diagnose run=a1b9200f seed=0 examples=200 to=diagnosis
  lra diagnose run=a1b9200f seed=0 figures=figures           its figures too, each as PNG, PDF and SVG
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

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from lra.base.overrides import Overrides
from lra.run import Run
from lra.settings.application import own_overrides
from lra.settings.command_options import Diagnose
from lra.settings.run_config import RunConfig
from lra.types import UserError

if TYPE_CHECKING:
    from lra.tools.verbs.diagnose_model import Diagnosed

READ_WITH_RUN = ("run", "seed", "to", "figures", "examples", "sequences", "logger", "paths", "check")
READ_OF_TRAINER = ("trainer.threads", "trainer=cpu")
OF_TRAINING = ("recipe", "compile", "callbacks", "debug", "force", "finished", "predictions")


def run(cfg: RunConfig) -> Diagnosed:
    """Diagnose a run or a fresh model.

    Raises:
        UserError: when there is no such run.
    """
    cfg, overrides = Diagnose.view(cfg), own_overrides()
    check_effect(overrides, of_a_run=cfg.run is not None)
    if cfg.examples < 1:
        raise UserError(f"examples={cfg.examples}, but accuracies need some; type for example examples=1000")
    to, figures = _typed_folder("to", cfg.to), _typed_folder("figures", cfg.figures)
    trained = None
    if cfg.run is not None:
        trained = Run.find(str(cfg.run), runs=cfg.paths.runs, seed=cfg.seed if overrides.only("seed") else None)
    from lra.tools.verbs.diagnose_model import diagnose_model  # torch: a mistyped word or run is told at once

    return diagnose_model(cfg, trained, to=to, figures=figures)


def _typed_folder(key: str, typed: str | None) -> Path | None:
    """Read the option that names a folder; None where it is not typed."""
    if typed is None:
        return None
    folder = Path(typed).expanduser()
    if folder.exists() and not folder.is_dir():
        raise UserError(f"{key}={typed} is a file; type a folder, for example {key}=diagnosis")
    return folder


def check_effect(overrides: Iterable[str], *, of_a_run: bool) -> None:
    """Refuse overrides that would have no effect on a run, which has its own model and data, or else on a fresh model.

    Raises:
        UserError: for the first such override.
    """
    for override in Overrides(overrides):
        key = override.group
        if override.key in READ_OF_TRAINER or override.lstrip("+~") in READ_OF_TRAINER:
            continue
        if of_a_run and key not in READ_WITH_RUN:
            why = " beside run=, which has its own model and data; leave one of the two out"
        elif key == "trainer":
            why = ": a model is diagnosed on the CPU in float32; leave it out, or type for example trainer.threads=2"
        elif key == "examples" and not of_a_run:
            why = " on a fresh model, which has no accuracies; leave it out, or name a trained run: run=a1b9200f"
        elif key in OF_TRAINING:
            why = " on a fresh model, which is not trained; leave it out, or name a trained run: run=a1b9200f"
        else:
            continue
        raise UserError(f"{override} has no effect{why}", kind="no_effect", key=override.key)
