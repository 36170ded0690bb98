"""Export a trained run: its best weights, the settings that its model is built from, and a model card."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lra.base.files import making_folder
from lra.types import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from torch import Tensor

    from lra.runs.schema import Record

NOT_FOR_BUILDING = ("name", "_partial_", "parameter_groups")
HYDRAS = re.compile(r"\b_\w+_\b")  # keys that Hydra reads, such as `_target_`
CARD = "README.md"


def check_target(to: Path) -> None:
    """Refuse a place that is taken, before anything is read.

    Raises:
        UserError: for a file, and for a folder that is not empty.
    """
    if to.is_dir() and any(to.iterdir()):
        raise UserError(f"to={to} is a folder that is not empty; name a new one, for example to={to}-2")
    if os.path.lexists(to) and not to.is_dir():
        raise UserError(f"to={to} is a file; name a new folder, for example to={to}-exported")


def exported_config(cfg: DictConfig) -> dict[str, Any]:
    """Collect what the model is built from, as `lra.interop.exported.ExportedConfig` declares it.

    Raises:
        UserError: for settings that only Hydra can build from, such as a class among the settings of a class.
    """
    from lra import build
    from lra.settings import config

    groups = {config.mixer_group(cfg): config.mixer_settings(cfg), "model": config.plain(cfg.model)}
    kept = {
        group: {key: value for key, value in settings.items() if key not in NOT_FOR_BUILDING}
        for group, settings in groups.items()
    }
    for group, settings in kept.items():
        values = {key: value for key, value in settings.items() if key != "_target_"}
        special = HYDRAS.search(" ".join(map(str, _keys(values))))
        if special:
            raise UserError(
                f"{group} has {special.group()} among its settings, which only Hydra can build from; to export this"
                " run, let the class make its parts itself"
            )
    return {"lra_export": 1, "task": asdict(build.build_spec(cfg)), "mask_zero": cfg.task.mask_zero, **kept}


def _keys(settings: object) -> Iterator[object]:
    """Every key of nested settings."""
    if isinstance(settings, dict):
        for key, value in settings.items():
            yield key
            yield from _keys(value)
    elif isinstance(settings, list):
        for value in settings:
            yield from _keys(value)


def own_package(config: dict[str, Any]) -> str | None:
    """Name the package of the user's own that has a class of the exported model; None if there is none."""
    from lra.runs.schema import is_ours

    targets = [config[group]["_target_"] for group in ("model", "attention", "mixer") if group in config]
    return next((target.split(".")[0] for target in targets if not is_ours(target)), None)


def best_weights(run: Path, cfg: DictConfig) -> dict[str, Tensor]:
    """Read the weights of the model that had the best dev accuracy, as the run's checkpoint has them."""
    from lra import build
    from lra.runs.files import BEST
    from lra.training.checkpoints import fitting_weights

    return fitting_weights(run / BEST, build.build_model(cfg))


def write_exported(run: Path, to: Path, cfg: DictConfig, record: Record) -> None:
    """Write the folder whole, or not at all."""
    from lra.interop.card import model_card
    from lra.interop.files import CONFIG_JSON, SAFETENSORS, write_tensors

    to = to.absolute()
    config, weights = exported_config(cfg), best_weights(run, cfg)
    card = model_card(record, config, folder=to.name, trusted=own_package(config))
    with making_folder(to, replace=False) as unfinished:
        write_tensors(unfinished / SAFETENSORS, weights)
        (unfinished / CONFIG_JSON).write_text(json.dumps(config, indent=2) + "\n", "utf-8")
        (unfinished / CARD).write_text(card, "utf-8")
        check_target(to)
