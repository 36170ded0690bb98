"""The switchboard: from a Hydra configuration to plain typed objects. Below the commands, only this file knows it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf

from lra.paths import conf_dir, data_dir, run_folder, runs_dir
from lra.results.settings import hash_of
from lra.types import TaskSpec, UserError

if TYPE_CHECKING:  # imported where they are used: `lra prepare` and `lra doctor` answer at once without them
    from pytorch_lightning.loggers.logger import Logger
    from torch import nn

    from lra.attention.base import AttentionBackend, AttentionDims
    from lra.data.datamodule import StoreDataModule
    from lra.training.module import ClassifierModule
    from lra.training.run import Machine

# What moves a number of the result. Everything else (folders, loggers, the seed) may change within one run's settings.
SETTINGS = ("task", "attention", "protocol", "model", "recipe", "size")
TRAINER_SETTINGS = ("accelerator", "precision", "accumulate_grad_batches")
NAMED = ("task", "attention", "protocol", "size")  # groups whose choice is a part of the run's folder
MOST_NAME_BYTES = 200  # of a folder; file systems take 255

for _name, _folder in (("data_dir", data_dir), ("runs_dir", runs_dir)):
    OmegaConf.register_new_resolver(f"lra.{_name}", lambda folder=_folder: str(folder()), replace=True)


def load_config(name: str, overrides: Sequence[str] = (), *, with_hydra: bool = False) -> DictConfig:
    """The configuration that `lra NAME OVERRIDES` would use; with Hydra's own part if asked for."""
    return _compose(name, tuple(overrides), with_hydra).copy()


@functools.cache
def _compose(name: str, overrides: tuple[str, ...], with_hydra: bool) -> DictConfig:
    """Compose once what a command asks for again and again: it takes 0.1 s, a copy 3 ms.

    Hydra composes for one program at a time: inside a running command, its state is set aside and brought back.
    """
    running = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(conf_dir()), version_base="1.3"):
            return compose(name, list(overrides), return_hydra_config=with_hydra)
    finally:
        GlobalHydra.instance().hydra = running


def build_spec(cfg: DictConfig) -> TaskSpec:
    """The task's spec."""
    spec: TaskSpec = instantiate(cfg.task.spec)
    return spec


def build_attention(cfg: DictConfig) -> Callable[[AttentionDims], AttentionBackend]:
    """What makes one layer's backend."""
    settings = {key: value for key, value in attention_settings(cfg).items() if key != "name"}
    make: Callable[[AttentionDims], AttentionBackend] = instantiate(settings)
    return make


def attention_settings(cfg: DictConfig) -> dict[str, Any]:
    """The attention's name and knobs, interpolations resolved."""
    return plain(cfg.attention)


def build_model(cfg: DictConfig) -> nn.Module:
    """The classifier of the task, the attention and the protocol."""
    model: nn.Module = instantiate(cfg.model)(build_spec(cfg), build_attention(cfg))
    return model


def build_module(cfg: DictConfig, spec: TaskSpec) -> ClassifierModule:
    """The classifier with its optimizer and schedule, compiled if the configuration says so."""
    from lra.training.module import ClassifierModule
    from lra.training.optimizer import group_parameters

    model = build_model(cfg)
    if cfg.get("compile"):  # runs that were trained before there was this setting have none
        model.compile(fullgraph=True)
    groups = plain(cfg.recipe.get("parameter_groups", OmegaConf.create({})))  # later than some runs, too
    make_optimizer = instantiate(cfg.recipe.optimizer)
    return ClassifierModule(
        model,
        num_classes=spec.num_classes,
        make_optimizer=lambda model: group_parameters(model, make_optimizer, groups),
        make_schedule=instantiate(cfg.recipe.schedule),
        label=f"{cfg.task.name}/{cfg.attention.name}",
    )


def check_folder_name(key: str, name: str) -> str:
    """Give back the name of a folder below another one, or of one within it: `mine`, `mine/first`.

    Raises:
        UserError: for an empty, absolute, hidden or very long one, and for one that leads elsewhere.
    """
    for part in str(name).split("/"):
        if not part or part.startswith(".") or "\\" in part or not part.isprintable():
            raise UserError(f"{key}={name!s:.80} is no name for a folder below the others; type for example {key}=mine")
    if len(str(name).encode()) > MOST_NAME_BYTES:
        raise UserError(
            f"{key}={name!s:.20}… has {len(str(name))} letters, more than a folder's name can have;"
            f" type for example {key}=mine"
        )
    return str(name)


def store_dir(cfg: DictConfig) -> Path:
    """Folder of the task's prepared store."""
    return Path(cfg.paths.data) / "stores" / cfg.task.name / cfg.size.name


def build_datamodule(cfg: DictConfig, spec: TaskSpec) -> StoreDataModule:
    """The task's data, in batches that accumulation has split."""
    from lra.data.datamodule import StoreDataModule

    parts, devices = cfg.trainer.accumulate_grad_batches, cfg.trainer.devices
    if cfg.recipe.batch_size % devices:
        raise UserError(
            f"trainer.devices={devices} does not divide recipe.batch_size={cfg.recipe.batch_size};"
            f" type trainer.devices={math.gcd(devices, cfg.recipe.batch_size)}"
        )
    if cfg.recipe.batch_size // devices % parts:
        raise UserError(
            f"trainer.accumulate_grad_batches={parts} does not divide recipe.batch_size={cfg.recipe.batch_size}"
            + (f" over {devices} devices" if devices > 1 else "")
            + f"; type trainer.accumulate_grad_batches={math.gcd(parts, cfg.recipe.batch_size // devices)}"
        )
    return StoreDataModule(
        spec=spec,
        store_dir=store_dir(cfg),
        mask_zero=cfg.task.mask_zero,
        dev_split=cfg.task.dev_split,
        text_length=cfg.task.get("longest"),  # Text alone; runs of before have none
        test_last_batch=cfg.protocol.test_last_batch,
        batch_size=cfg.recipe.batch_size // parts,
        num_train_batches=cfg.recipe.steps * parts,
        seed=cfg.seed,
    )


def build_machine(cfg: DictConfig) -> Machine:
    """Where and how the run computes."""
    from lra.training.run import Machine

    return Machine(
        accelerator=cfg.trainer.accelerator,
        devices=cfg.trainer.devices,
        precision=cfg.trainer.precision,
        accumulate_grad_batches=cfg.trainer.accumulate_grad_batches,
        threads=cfg.trainer.threads,
    )


def device_name(cfg: DictConfig) -> str:
    """The device for the record: the GPU's name, or `cpu` with its threads."""
    import torch

    if cfg.trainer.accelerator == "gpu":
        name = torch.cuda.get_device_name()
    else:
        name = f"cpu ({torch.get_num_threads()} threads)"
    return name if cfg.trainer.devices == 1 else f"{cfg.trainer.devices} x {name}"


def build_loggers(cfg: DictConfig, folder: Path, curves: Logger) -> list[Logger]:
    """The curve file, and W&B unless `logger=csv`."""
    if cfg.logger.wandb is None:
        return [curves]
    from lra.training.loggers import start_wandb, wandb_logger

    task, attention = cfg.task.name, cfg.attention.name
    run = start_wandb(
        folder,
        **plain(cfg.logger.wandb),
        name=f"{task}/{attention}/{cfg.seed}",
        group=cfg.run_group,
        job_type=task,
        tags=[task, attention, cfg.protocol.name, cfg.size.name],
        config=plain(cfg),
    )
    return [curves, wandb_logger(run)]


def plain(cfg: DictConfig) -> dict[str, Any]:
    """A configuration node as plain containers, interpolations resolved."""
    container = OmegaConf.to_container(cfg, resolve=True)
    assert isinstance(container, dict)
    return {str(key): value for key, value in container.items()}


def settings(cfg: DictConfig) -> dict[str, Any]:
    """What moves a number of the result, but the seed: the record holds it, and the run's folder is called after it."""
    chosen = {group: plain(cfg[group]) for group in SETTINGS}
    chosen["task"].pop("sizes", None)
    trainer = {key: cfg.trainer[key] for key in TRAINER_SETTINGS}
    if cfg.trainer.devices > 1:
        trainer["devices"] = cfg.trainer.devices
    if cfg.get("compile"):  # other roundings, other draws of dropout
        trainer["compile"] = True
    return {**chosen, "trainer": trainer}


def config_hash(cfg: DictConfig) -> str:
    """Eight hex digits that two runs share exactly when their settings are the same."""
    return hash_of(settings(cfg))


def run_dir(cfg: DictConfig) -> Path:
    """The run's folder: a function of the settings, so the same command finds what it had begun."""
    return run_folder(
        Path(cfg.paths.runs),
        check_folder_name("run_group", cfg.run_group),
        **{group: check_folder_name(f"{group}.name", cfg[group].name) for group in NAMED},
        steps=cfg.recipe.steps,
        config_hash=config_hash(cfg),
        seed=cfg.seed,
    )
