"""The model that `lra diagnose` is about, a trained run's or a fresh one: its variants, dev examples."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from rich.console import Console
from torch import nn

from lra.data.store_data import StoreData
from lra.from_config import build_data, build_method, build_model, build_trained_model
from lra.from_config.store import ensure_store
from lra.run import Run
from lra.runs.files import BEST
from lra.runs.schema import NYSTROM, TARGET
from lra.settings.command_options import Diagnose
from lra.settings.compose import with_attention
from lra.settings.run_config import RunConfig
from lra.tools.diagnosis.swap import Variants
from lra.types import Batch, UserError

SEED = 0  # of the sample of dev examples


@dataclass(frozen=True, kw_only=True)
class DiagnosedModel:
    """A model to diagnose, on the CPU, with its configuration, its data and the run's folder.

    A fresh model (`is_trained` is false) has a folder below the folder of runs.
    """

    cfg: RunConfig
    folder: Path
    is_trained: bool
    model: nn.Module
    data: StoreData


def diagnosed_model(cfg: Diagnose, run: Run | None, console: Console) -> DiagnosedModel:
    """Read a run, with its best weights, or without one make a fresh model of the settings.

    Raises:
        UserError: when the run's weights are not finite, as after a training that has diverged.
    """
    if run is None:
        ensure_store(cfg, console)
        torch.manual_seed(cfg.seed)
        name = "-".join((cfg.task.name, cfg.method_name, cfg.size.name))
        return DiagnosedModel(
            cfg=cfg,
            folder=cfg.paths.runs / "diagnose" / name,
            is_trained=False,
            model=build_model(cfg),
            data=build_data(cfg),
        )
    trained = run.config_at(cfg).on_one_device()
    model, data = build_trained_model(trained, run.folder), build_data(trained)
    wrong = next((name for name, x in model.state_dict().items() if not x.isfinite().all()), None)
    if wrong is not None:
        line = f"{run.folder / BEST}: {wrong} holds numbers that are not finite, so nothing can be compared; diagnose"
        raise UserError(f"{line} another run: lra show runs lists them", kind="not_finite", key=BEST, value=wrong)
    return DiagnosedModel(cfg=trained, folder=run.folder, is_trained=True, model=model, data=data)


def make_variants(cfg: RunConfig) -> tuple[Variants, int]:
    """Build what makes variants of the model's attentions, and the number of landmarks of their Nyström attention.

    It has the model's own settings if its attention is Nyström's, else the defaults under the model's protocol.
    """
    if not is_nystrom(cfg):
        cfg = with_attention(cfg, "nystrom")
    return Variants(make=build_method(cfg)), cfg.attention.num_landmarks


def is_nystrom(cfg: RunConfig) -> bool:
    """Tell whether the model's attention is Nyström attention."""
    return cfg.mixes_by_attention and cfg.attention[TARGET] == NYSTROM


def dev_batches(data: StoreData, examples: int, *, batch_size: int) -> list[Batch]:
    """Make batches of dev examples: a random sample of them, because some splits are sorted by class.

    The sample is the same in every call, and in the order of the split.
    """
    collate = data.collator("dev")
    sample = np.sort(np.random.default_rng(SEED).permutation(len(collate.split))[:examples])
    return [collate(sample[start : start + batch_size]) for start in range(0, len(sample), batch_size)]
