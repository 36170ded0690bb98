"""Check the settings of a run against the tables of allowed values and against each other, before anything is built."""

from __future__ import annotations

from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf

from lra.cli_support.allowed import NUMBERS, PAIRS, WORDS
from lra.cli_support.number_rules import Number, as_typed, real
from lra.names import checked_name
from lra.pass_through import ENTRIES, check_additions
from lra.results.schema import is_ours
from lra.training.compiled import check_parts
from lra.types import UserError

LEAST_LENGTH = 5  # one more than the tokens of the shortest ListOps expression, because the bound is exclusive
DRAWN_SIDE = 32  # pixels in a row of a source image, unless the task sets `drawn_side`
ON_CPU_INSTEAD = {"16-mixed": "bf16", "tf32": "float32"}  # precisions that only GPUs have


def check_settings(cfg: DictConfig) -> None:
    """Refuse values that no run could use; settings that this verb's configuration does not have are skipped.

    Raises:
        UserError: for the first wrong setting, with its key, its value and the allowed values.
    """
    absent = object()
    keys = (*NUMBERS, *PAIRS, *WORDS, "run_group")
    own = {group for group in {key.split(".")[0] for key in keys} if not has_rule(cfg, group)}
    for key in keys:
        if key.split(".")[0] in own:
            continue
        value = OmegaConf.select(cfg, key, default=absent)
        if value is not absent and not (key == "run_group" and value is None):  # null by default in lra publish
            check_value(key, OmegaConf.to_container(value) if isinstance(value, ListConfig) else value)
    check_additions({group: OmegaConf.to_container(cfg[group]) for group in ("trainer", *ENTRIES) if group in cfg})
    _check_schedule(cfg)
    _check_parameter_groups(cfg)
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


def _check_parameter_groups(cfg: DictConfig) -> None:
    """Hold the settings of parameter groups to the rules of `recipe.optimizer`."""
    for place in ("recipe.parameter_groups", "mixer.parameter_groups"):
        settings = OmegaConf.select(cfg, place)
        groups: Any = OmegaConf.to_container(settings) if isinstance(settings, DictConfig) else {}
        for name, group in groups.items():
            for key, value in group.items() if isinstance(group, dict) else ():
                rule = NUMBERS.get(f"recipe.optimizer.{key}")
                if rule is not None and not rule.allows(value):
                    typed = f"{place}.{name}.{key}"
                    raise UserError(
                        f"{typed}={as_typed(value)} is not {rule}; type for example {typed}={as_typed(rule.example)}"
                    )


def _check_trainer(cfg: DictConfig) -> None:
    """Refuse settings of the trainer that contradict each other; each by itself is checked already."""
    trainer = cfg.trainer
    if trainer.accelerator == "cpu" and trainer.precision in ON_CPU_INSTEAD:
        raise UserError(
            f"trainer.precision={trainer.precision} needs a GPU: on a CPU torch would compute in"
            f" {ON_CPU_INSTEAD[trainer.precision]} instead; type trainer=gpu, or trainer.precision=32-true"
        )
    clip = trainer.get("gradient_clip_val")
    if clip is not None and not real(1.0, above=True).allows(clip):
        raise UserError(
            f"trainer.gradient_clip_val={as_typed(clip)} is not a number above 0, so it would clip nothing;"
            " type for example +trainer.gradient_clip_val=1, or leave it out"
        )
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


def has_rule(cfg: DictConfig, key: str) -> bool:
    """Tell whether the tables apply to a setting: not to the knobs of a class of the user's own."""
    group = OmegaConf.select(cfg, key.split(".")[0])
    return not isinstance(group, DictConfig) or is_ours(group.get("_target_"))


def check_value(key: str, value: object, typed: str | None = None) -> None:
    """Refuse a value that the tables do not allow; a setting that is in no table may have any value.

    Args:
        key: the setting, as a dotted path.
        value: its value.
        typed: the setting as the user typed it, for the error, such as `recipe.optimizer.lr=-1e-4`.

    Raises:
        UserError: with the allowed values.
    """
    typed = typed or f"{key}={as_typed(value)}"
    if key == "run_group":
        checked_name(value, f"{key}=", example="mine", nested=True)
    if key in NUMBERS and not NUMBERS[key].allows(value):
        raise UserError(f"{typed} is not {NUMBERS[key]}; type for example {key}={as_typed(NUMBERS[key].example)}")
    if key in PAIRS and not (isinstance(value, list) and _are_two(value, PAIRS[key])):
        raise UserError(f"{typed} is not two numbers, each {PAIRS[key]}; type for example {key}=[0.9,0.999]")
    if key in WORDS and (type(value), value) not in [(type(word), word) for word in WORDS[key]]:  # 1 is not true
        raise UserError(f"{typed} is not known; choose one of {', '.join(map(as_typed, WORDS[key]))}")


def _are_two(values: list[object], number: Number) -> bool:
    return len(values) == 2 and all(number.allows(value) for value in values)
