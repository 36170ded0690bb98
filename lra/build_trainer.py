"""Build what a run trains with: the machine, callbacks and loggers of a Hydra configuration."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from hydra.utils import instantiate
from omegaconf import DictConfig

from lra.config import batch_parts, identity, logs_to_wandb, method_name, plain
from lra.pass_through import targets_of
from lra.run_files import METRICS
from lra.types import UserError

if TYPE_CHECKING:  # slow imports, made only where they are used
    from pytorch_lightning.callbacks import Callback
    from pytorch_lightning.loggers.logger import Logger

    from lra.training.machine import Machine


def build_machine(cfg: DictConfig) -> Machine:
    """Build the description of the hardware and precision that the run uses.

    Raises:
        UserError: when this machine does not have what the configuration asks for.
    """
    from lra.training.machine import Machine

    return Machine(
        accelerator=cfg.trainer.accelerator,
        devices=cfg.trainer.devices,
        precision=cfg.trainer.precision,
        accumulate_grad_batches=batch_parts(cfg),
        threads=cfg.trainer.threads,
    )


def device_name(cfg: DictConfig) -> str:
    """Name the device for the record: the GPU's name, or `cpu` with its number of threads."""
    import torch

    if cfg.trainer.accelerator == "gpu":
        name = torch.cuda.get_device_name()
    else:
        name = f"cpu ({torch.get_num_threads()} threads)"
    return name if cfg.trainer.devices == 1 else f"{cfg.trainer.devices} x {name}"


def build_callbacks(cfg: DictConfig) -> list[Callback]:
    """Build the callbacks that the configuration adds, such as `callbacks.early_stopping`."""
    from pytorch_lightning.callbacks import Callback

    return [_entry("callbacks", name, node, Callback) for name, node in targets_of(cfg.callbacks).items()]


def build_loggers(cfg: DictConfig, folder: Path, curves: Logger) -> list[Logger]:
    """List the run's loggers: the curve file, W&B if `logger.wandb` is not null, and those that are added."""
    from pytorch_lightning.loggers.logger import Logger

    added = [_entry("logger", name, node, Logger) for name, node in targets_of(cfg.logger).items()]
    if not logs_to_wandb(cfg):
        return [curves, *added]
    from lra.training.curves import read_curves
    from lra.training.loggers import start_wandb

    task, method = cfg.task.name, method_name(cfg)
    to_wandb = start_wandb(
        folder,
        **plain(cfg.logger.wandb),
        name=f"{task}/{method}/{cfg.seed}",
        group=cfg.run_group,
        job_type=task,
        tags=[task, method, cfg.protocol.name, cfg.size.name],
        # A W&B sweep locks keys such as `task` to its words, so the settings of the task need another key.
        config={**identity(cfg), "config": plain(cfg)},
    )
    to_wandb.catch_up(read_curves(folder / METRICS))
    return [curves, to_wandb, *added]


def _entry(group: str, name: str, settings: DictConfig, kind: type) -> Any:
    """Make one added callback or logger.

    Raises:
        UserError: when its class refuses the arguments, or is of another kind.
    """
    made = instantiate(settings)
    if not isinstance(made, kind):
        raise UserError(f"{group}.{name}._target_={settings._target_} is no {kind.__name__} of Lightning's")
    return made
