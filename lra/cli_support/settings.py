"""Allowed values of the settings: tables of numbers and words, checked before anything is built or run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from omegaconf import DictConfig, ListConfig, OmegaConf

from lra.config import AUTO
from lra.names import checked_name
from lra.pass_through import ENTRIES, check_additions
from lra.results.schema import is_ours
from lra.training.compiled import GRAPH_MODES, check_parts
from lra.types import UserError

MOST_WHOLE = 2**31 - 1
LEAST_LENGTH = 5  # one more than the tokens of the shortest ListOps expression, because the bound is exclusive
DRAWN_SIDE = 32  # pixels in a row of a source image, unless the task sets `drawn_side`
MOST_SEED = 2**32 - 1  # the largest seed that numpy's generators take


@dataclass(frozen=True)
class Number:
    """The numbers that a setting may have.

    Attributes:
        kind: `int` or `float`.
        least: lower bound; the bound itself is not allowed if `above`.
        most: upper bound; the bound itself is not allowed if `below`. Infinity is never allowed.
        example: the value that an error suggests.
        null: whether the setting may be null.
        word: a word that the setting may have in place of a number.
    """

    kind: type
    least: float
    most: float
    example: float
    above: bool = False
    below: bool = False
    null: bool = False
    word: str | None = None

    def allows(self, value: object) -> bool:
        """Tell whether `value` is a number of this kind within the bounds."""
        if value is None or value == self.word:
            return self.null or value is not None
        if isinstance(value, bool) or not isinstance(value, int if self.kind is int else int | float):
            return False
        high_enough = value > self.least if self.above else value >= self.least
        low_enough = value < self.most if self.below else value <= self.most
        return math.isfinite(value) and high_enough and low_enough

    def __str__(self) -> str:
        return self._numbers() if self.word is None else f"{self._numbers()}, nor {self.word}"

    def _numbers(self) -> str:
        what = "a whole number" if self.kind is int else "a number"
        low = f"above {self.least:g}" if self.above else f"of at least {self.least:g}"
        if math.isinf(self.most) or self.most == MOST_WHOLE:
            return f"{what} {low}"
        return f"{what} {low} and {'below' if self.below else 'at most'} {_plain(self.most)}"


def whole(
    example: int, *, least: int = 1, most: int = MOST_WHOLE, null: bool = False, word: str | None = None
) -> Number:
    """Make the rule of a count."""
    return Number(int, least, most, example, null=null, word=word)


def share(example: float, *, above: bool = False) -> Number:
    """Make the rule of a fraction: from 0, or above 0, to below 1."""
    return Number(float, 0, 1, example, above=above, below=True)


def real(example: float, *, above: bool = False) -> Number:
    """Make the rule of a finite number from 0 on, or above 0."""
    return Number(float, 0, math.inf, example, above=above)


NUMBERS = {
    "seed": whole(0, least=0, most=MOST_SEED),
    "recipe.batch_size": whole(32),
    "recipe.steps": whole(5000, least=2),  # the schedule ends at a rate of 0
    "recipe.eval_every": whole(50),
    "recipe.warmup_fraction": share(0.2, above=True),
    "recipe.schedule.steps": whole(5000, least=2),
    "recipe.schedule.warmup_fraction": share(0.2, above=True),
    "recipe.optimizer.lr": real(1e-4, above=True),
    "recipe.optimizer.eps": real(1e-6, above=True),  # 0 would divide a gradient of 0 by 0
    "recipe.optimizer.weight_decay": real(0.01),
    "model.num_layers": whole(2),
    "model.width": whole(64),
    "model.num_heads": whole(2),
    "model.head_dim": whole(32),
    "model.feed_forward": whole(128),
    "model.head_hidden": whole(128),
    "protocol.batch_constant_examples": whole(128, null=True),
    "model.dropout": share(0.1),
    "attention.attention_dropout": share(0.1),
    "attention.num_landmarks": whole(64),
    "attention.pinv_iterations": whole(6),
    "attention.pinv_rtol": share(1e-4),
    "attention.pinv_ridge": share(1e-3, above=True),
    "attention.kmeans_steps": whole(3),
    "attention.coarse_landmarks": whole(0, least=0),
    "attention.value_skip_taps": whole(35, least=0),
    "attention.projections": whole(256),
    "attention.features": whole(256),
    "attention.redraw_every": whole(0, least=0),
    "attention.num_hashes": whole(2),
    "attention.chunk_length": whole(64),
    "attention.block_length": whole(64),
    "attention.neighbour_blocks": whole(1, least=0),
    "attention.window": whole(256, least=2),
    "attention.global_tokens": whole(1, least=0),
    "attention.window_blocks": whole(3),
    "attention.global_blocks": whole(2, least=0),
    "attention.random_blocks": whole(3, least=0),
    "attention.regularisation": real(0.1, above=True),
    "mixer.states": whole(64, least=2),
    "mixer.step_least": real(0.001, above=True),
    "mixer.step_most": real(0.1, above=True),
    "mixer.averages": whole(16),
    "mixer.parameter_groups.dynamics.weight_decay": real(0.01),
    "mixer.parameter_groups.dynamics.lr_fraction": real(0.25, above=True),
    "trainer.accumulate_grad_batches": whole(2, word=AUTO),
    "trainer.devices": whole(2, most=1024),
    "trainer.max_steps": whole(10, null=True),
    "trainer.threads": whole(2, null=True),  # lra.training.machine.Machine checks the upper bound
    "callbacks.log_every_steps": whole(10),
    "callbacks.checkpoint_every_seconds": real(60),
    **{f"task.data.{name}": whole(256) for name in ("seq_len", "max_length", "min_length", "side", "drawn_side")},
    **{f"task.data.{name}": whole(256) for name in ("train", "dev", "test", "images")},
    "task.data.data_seed": whole(0, least=0, most=MOST_SEED),
    "workers": whole(2, most=1024),  # lra table, sweep, compare
    "steps": whole(10),  # lra bench
    "top": whole(5),  # lra fill-mask
    "dev_batches": whole(10),  # lra bench
    **{name: whole(number) for name, number in (("batch", 8), ("heads", 2), ("head_dim", 32), ("repeats", 9))},
    "threads": whole(2, null=True),  # these and the next: lra bench attention
    "cell_seconds": real(60, above=True),
    "minutes": real(10, above=True),  # these and the next two: lra bench gpu
    "parity_steps": whole(20),
    "parity_examples": whole(8),
    "predictions": whole(3, least=0),  # lra train, evaluate
    "examples": whole(3, least=0),  # lra show data; lra diagnose, which refuses 0
    "sequences": whole(8),  # lra diagnose
    "samples": whole(2, least=0),  # lra report
}
PAIRS = {"recipe.optimizer.betas": share(0.9)}
KINDS: dict[type, str] = {  # what a value of a type is called
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a word",
    list: "a list",
    dict: "a group of settings",
}
WORDS: dict[str, tuple[str | bool | None, ...]] = {
    "finished": ("refuse", "show"),
    "compile": (False, True, *GRAPH_MODES),
    "compiled": (False, True, *GRAPH_MODES),  # lra bench gpu
    "trainer.accelerator": ("cpu", "gpu"),
    "trainer.precision": ("32-true", "tf32", "bf16-mixed", "16-mixed", "64-true"),
    "debug.profiler": ("simple", "advanced", None),
    "dtype": ("float32", "float64", "bfloat16", "float16"),  # these and the next: lra bench attention
    "device": ("cpu", "cuda"),
    "against": ("pypi", None),
    "predict": ("h100", None),  # lra bench gpu
}
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
    data = OmegaConf.select(cfg, "task.data")
    if data is not None:
        _check_data(data)
    if OmegaConf.select(cfg, "trainer") is not None:
        _check_trainer(cfg)


def _check_trainer(cfg: DictConfig) -> None:
    """Refuse settings of the trainer that contradict each other; each by itself is checked already."""
    trainer = cfg.trainer
    if trainer.accelerator == "cpu" and trainer.precision in ON_CPU_INSTEAD:
        raise UserError(
            f"trainer.precision={trainer.precision} needs a GPU: on a CPU torch would compute in"
            f" {ON_CPU_INSTEAD[trainer.precision]} instead; type trainer=gpu, or trainer.precision=32-true"
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
    typed = typed or f"{key}={_plain(value)}"
    if key == "run_group":
        checked_name(value, f"{key}=", example="mine", nested=True)
    if key in NUMBERS and not NUMBERS[key].allows(value):
        raise UserError(f"{typed} is not {NUMBERS[key]}; type for example {key}={_plain(NUMBERS[key].example)}")
    if key in PAIRS and not (isinstance(value, list) and _are_two(value, PAIRS[key])):
        raise UserError(f"{typed} is not two numbers, each {PAIRS[key]}; type for example {key}=[0.9,0.999]")
    if key in WORDS and (type(value), value) not in [(type(word), word) for word in WORDS[key]]:  # 1 is not true
        raise UserError(f"{typed} is not known; choose one of {', '.join(map(_plain, WORDS[key]))}")


def _are_two(values: list[object], number: Number) -> bool:
    return len(values) == 2 and all(number.allows(value) for value in values)


def _plain(value: object) -> str:
    """Write a value as a user types it."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
