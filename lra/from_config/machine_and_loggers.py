"""Build what a run trains with: the machine, callbacks and loggers of a Hydra configuration."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lra.base.devices import visible_devices
from lra.base.text import visible
from lra.from_config import make_from
from lra.runs.files import METRICS
from lra.runs.schema import TARGET
from lra.settings.added_keys import targets_of, trainer_arguments
from lra.settings.run_config import RunConfig
from lra.settings.wandb_arguments import names_of_training, wandb_arguments
from lra.types import UserError

if TYPE_CHECKING:  # slow imports, made only where they are used
    import wandb
    from pytorch_lightning.callbacks import Callback
    from pytorch_lightning.loggers.logger import Logger
    from rich.console import Console
    from torch import nn

    from lra.training.loggers import CurvesInWandb
    from lra.training.machine import Machine


def build_machine(cfg: RunConfig) -> Machine:
    """Build the description of the hardware and precision that the run uses.

    Raises:
        UserError: when this machine does not have what the configuration asks for.
    """
    from lra.training.machine import Machine

    return Machine(
        accelerator=cfg.trainer.accelerator,
        devices=cfg.trainer.devices,
        num_nodes=cfg.trainer.num_nodes,
        precision=cfg.trainer.precision,
        accumulate_grad_batches=cfg.batch_parts,
        threads=cfg.trainer.threads,
    )


def is_same_in_parts(cfg: RunConfig, model: nn.Module, parts: int) -> bool:
    """Tell whether a batch in `parts` parts makes the same run: the same steps up to rounding, and the same test.

    It does not if a part has other batch-wide constants or other test examples than the whole batch. Several processes
    would have to agree on a number, so they try none. Modes of `compile=` with CUDA graphs, which are words, overwrite
    the gradients of the parts before.
    """
    if cfg.protocol.test_last_batch == "dropped" or cfg.num_processes > 1 or isinstance(cfg.compile, str):
        return False
    batch = cfg.recipe.batch_size
    group = min(cfg.model.get("batch_constant_examples") or batch, batch)
    batch_wide = any(getattr(part, "batch_wide", False) for part in model.modules())
    return not batch_wide or batch // parts % group == 0


def device_name(cfg: RunConfig) -> str:
    """Name the device for the record: the GPU's name, or `cpu` with its number of threads."""
    import torch

    if cfg.trainer.accelerator == "gpu":
        name = torch.cuda.get_device_name()
    else:
        name = f"cpu ({cfg.trainer.threads or torch.get_num_threads()} threads)"
    return name if cfg.num_processes == 1 else f"{cfg.num_processes} x {name}"


def gpus_of_run(cfg: RunConfig) -> list[str]:
    """Name the GPUs of this machine that the run uses, as CUDA_VISIBLE_DEVICES does; none on a CPU."""
    return visible_devices()[: cfg.trainer.devices] if cfg.trainer.accelerator == "gpu" else []


def build_trainer_arguments(cfg: RunConfig) -> dict[str, Any]:
    """Collect the arguments of Lightning's Trainer that the configuration adds; an entry with a `_target_` is made."""
    return {
        name: make_from(value) if isinstance(value, dict | list) else value
        for name, value in trainer_arguments(cfg.plain("trainer")).items()
    }


def build_callbacks(cfg: RunConfig) -> list[Callback]:
    """Build the callbacks that the configuration adds, such as `callbacks.early_stopping`."""
    from pytorch_lightning.callbacks import Callback

    return [_entry("callbacks", name, node, Callback) for name, node in targets_of(cfg.plain("callbacks")).items()]


def build_loggers(cfg: RunConfig, folder: Path, curves: Logger) -> list[Logger]:
    """List the run's loggers: the curve file, W&B if `logger.wandb` is not null, and those that are added."""
    from pytorch_lightning.loggers.logger import Logger

    added = [_entry("logger", name, node, Logger) for name, node in targets_of(cfg.plain("logger")).items()]
    if not cfg.logs_to_wandb:
        return [curves, *added]
    from lra.training.curves import read_curves
    from lra.training.loggers import send_curves

    to_wandb = _begin_wandb(cfg, folder)
    send_curves(to_wandb, read_curves(folder / METRICS))
    return [curves, to_wandb, *added]


def build_loggers_of_stage(cfg: RunConfig, folder: Path, curves: Logger, stage: str) -> list[Logger]:
    """List the loggers of a run's first stage, `stage` in its folder: its curve file, and W&B if the run has it."""
    if not cfg.logs_to_wandb:
        return [curves]
    from lra.training.curves import read_curves
    from lra.training.loggers import CurvesOfStage, send_curves

    to_wandb = _begin_wandb(cfg, folder)
    of_stage = CurvesOfStage(to_wandb, stage)
    send_curves(of_stage, read_curves(folder / stage / METRICS))
    return [curves, of_stage]


def _begin_wandb(cfg: RunConfig, folder: Path) -> CurvesInWandb:
    """Begin the W&B run of a training, or continue it."""
    from lra.training.loggers import start_wandb

    # A W&B sweep locks keys such as `task` to its words, so the settings of the task need another key.
    config = {**cfg.identity, "config": cfg.all_plain()}
    return start_wandb(folder, **wandb_arguments(cfg, **names_of_training(cfg), config=config))


def check_loggers(cfg: RunConfig) -> None:
    """Refuse environment variables that W&B would refuse when the run begins; nothing without W&B.

    Raises:
        UserError: for the first one.
    """
    if cfg.logs_to_wandb:
        from lra.training.wandb_session import session_settings

        session_settings()


@contextmanager
def wandb_run(cfg: RunConfig, folder: Path, console: Console, *, name: str, **settings: Any) -> Iterator[wandb.Run]:
    """Begin a W&B run for what is no training, such as a table, end it after the block, and print where it is.

    The settings are those of `wandb_arguments`.
    """
    from lra.training.loggers import finish_wandb, start_wandb  # slow: imports Lightning
    from lra.training.wandb_server import sync_command

    arguments = wandb_arguments(cfg, name=name, **settings)
    check_loggers(cfg)
    folder.mkdir(parents=True, exist_ok=True)
    logger = start_wandb(folder, **arguments)
    try:
        yield logger.experiment
    finally:
        finish_wandb([logger])
    sent = "logged" if cfg.logger["wandb"]["mode"] == "online" else f"later: {sync_command(folder)}"
    console.print(visible(f"W&B run {logger.version} ({name}) in {folder}; {sent}"))


def _entry(group: str, name: str, settings: Mapping[str, Any], kind: type) -> Any:
    """Make one added callback or logger; refuse one of another kind."""
    instance = make_from(settings)
    if not isinstance(instance, kind):
        raise UserError(f"{group}.{name}._target_={settings[TARGET]} is no {kind.__name__} of Lightning's")
    return instance
