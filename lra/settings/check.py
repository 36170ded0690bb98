"""The check of a composed configuration, before anything is prepared, built or written."""

from __future__ import annotations

from typing import Any

from omegaconf import DictConfig, OmegaConf

from lra.base.arguments import Positive, WrongValueError, allows
from lra.base.files import checked_name
from lra.runs.schema import is_ours
from lra.settings.added_keys import USER_GROUPS, check_additions
from lra.settings.schema import check_values
from lra.settings.unknown_options import refuse_unused
from lra.training.compiled import check_parts
from lra.types import UserError

LEAST_LENGTH = 5  # one more than the tokens of the shortest ListOps expression, because the bound is exclusive
DRAWN_SIDE = 32  # pixels in a row of a source image, unless the task sets `drawn_side`
ON_CPU_INSTEAD = {"16-mixed": "bf16", "tf32": "float32"}  # precisions that only GPUs have


def check_config(cfg: DictConfig, verb: str) -> None:
    """Refuse a configuration that no command could use; `lra.build.check_classes` checks the arguments of classes.

    Args:
        cfg: the configuration.
        verb: the verb that composed it.

    Raises:
        UserError: for the first wrong option, with its value and what is right.
    """
    check_stored(cfg, classes=False)
    refuse_unused(cfg, verb)


def check_stored(cfg: DictConfig, *, classes: bool = True) -> None:
    """Refuse a configuration whose values are wrong, or contradict each other; it may lack options.

    Raises:
        UserError: for the first wrong option, with its value and what is right.
    """
    check_values(cfg, classes=classes)
    if cfg.get("run_group") is not None:
        checked_name(cfg.run_group, "run_group=", example="mine", nested=True)
    check_additions({group: OmegaConf.to_container(cfg[group]) for group in ("trainer", *USER_GROUPS) if group in cfg})
    _check_schedule(cfg)
    data = OmegaConf.select(cfg, "task.data")
    if data is not None:
        _check_data(data)
    if OmegaConf.select(cfg, "trainer") is not None:
        _check_trainer(cfg)


def _check_schedule(cfg: DictConfig) -> None:
    """Refuse a schedule of ours that ends before the run; each number by itself is checked already."""
    keys = ("steps", "schedule.steps", "schedule._target_")
    steps, scheduled, target = (OmegaConf.select(cfg, f"recipe.{key}") for key in keys)
    if isinstance(steps, int) and isinstance(scheduled, int) and scheduled < steps and is_ours(target):
        raise UserError(
            f"recipe.schedule.steps={scheduled} is fewer than recipe.steps={steps}: there would be no learning rate for"
            f" the last steps; type recipe.schedule.steps={steps}"
        )


def _check_trainer(cfg: DictConfig) -> None:
    """Refuse settings of the trainer that contradict each other; each by itself is checked already."""
    trainer = cfg.trainer
    if trainer.accelerator == "cpu" and trainer.precision in ON_CPU_INSTEAD:
        raise UserError(
            f"trainer.precision={trainer.precision} needs a GPU: on a CPU torch would compute in"
            f" {ON_CPU_INSTEAD[trainer.precision]} instead; type trainer=gpu, or trainer.precision=32-true",
            kind="needs_gpu",
            key="trainer.precision",
            value=trainer.precision,
        )
    clip = trainer.get("gradient_clip_val")
    if clip is not None and not allows(Positive, clip):  # 0 would clip nothing
        raise WrongValueError("trainer.gradient_clip_val", clip, Positive, default=1)
    if isinstance(trainer.accumulate_grad_batches, int):
        check_parts(cfg.get("compile"), trainer.accumulate_grad_batches)
    if trainer.get("fused_optimizer") and trainer.get("gradient_clip_val") and trainer.precision.endswith("-mixed"):
        raise UserError(
            f"trainer.precision={trainer.precision} cannot clip gradients with a fused optimizer;"
            " type trainer.fused_optimizer=false, or leave trainer.gradient_clip_val out"
        )


def _check_data(data: Any) -> None:
    """Refuse lengths of a task's data that contradict each other; each number by itself is checked already."""
    longest, shortest, side = (data.get(name) for name in ("max_length", "min_length", "side"))
    if longest is None:  # a stored configuration may lack settings that only making data needs
        return
    if longest > data.get("seq_len", longest):
        raise UserError(
            f"task.data.max_length={longest} is more than task.data.seq_len={data.seq_len}, the longest that the model"
            f" takes; type task.data.max_length={data.seq_len}"
        )
    if shortest is not None and (longest < LEAST_LENGTH or shortest > longest - 2):
        raise UserError(
            f"no expression has more than task.data.min_length={shortest} and fewer than task.data.max_length={longest}"
            f" tokens; type for example task.data.min_length={max(longest, 100) // 2}"
        )
    drawn = data.get("drawn_side", DRAWN_SIDE)
    if side is not None and (drawn % side or side * side > longest):
        raise UserError(
            f"task.data.side={side} does not divide the {drawn} pixels of a row, or {side} × {side} pixels are more"
            f" than task.data.max_length={longest}; type for example task.data.side=16"
        )
