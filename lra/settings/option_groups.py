"""The options of the groups that no class is made from, with their types; a class's are in its signature.

A group whose options other files read is a dataclass, which `lra.settings.run_config` fills with values.
"""

import re
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from lra.base.option_types import (
    AtLeastTwo,
    BatchSize,
    Count,
    Effects,
    Fraction,
    MayLack,
    Names,
    NonNegative,
    Positive,
    PositiveFraction,
    Section,
    Seed,
    kinds_of,
)
from lra.base.protocol import DevSplit, ListopsBrackets, Protocol, TextLength

Kinds = dict[str, Any]
Processes = Annotated[int, Ge(1), Le(1024)]
Compile = bool | Literal["reduce-overhead", "max-autotune"]


@dataclass(frozen=True, kw_only=True)
class Task:
    """A task; one of a user's own may have more. `data` depends on the size."""

    name: str
    spec: Section
    mask_zero: bool
    dev_split: DevSplit
    longest: TextLength | None = None
    listops_brackets: ListopsBrackets | None = None
    vocabulary: MayLack[AtLeastTwo] = None
    least_count: MayLack[Count] = None
    pixel_mean: MayLack[float] = None
    pixel_std: MayLack[Positive] = None
    codec: MayLack[Section] = None
    open_source: MayLack[Section] = None
    data: Section
    sizes: Section


@dataclass(frozen=True, kw_only=True)
class Recipe:
    """How a run is trained; the length of the run is that of its schedule."""

    batch_size: BatchSize
    steps: AtLeastTwo  # the schedule ends at a rate of 0
    warmup_fraction: PositiveFraction
    eval_every: Count
    optimizer: Section
    schedule: Section
    parameter_groups: Section = field(default_factory=Section)


@dataclass(frozen=True, kw_only=True)
class Pretrain:
    """The stage of self-pretraining, or with the name `none` that there is none."""

    name: Literal["none", "masked"]
    from_: str | None = None
    steps: AtLeastTwo
    eval_every: Count
    lr: Positive
    warmup_fraction: PositiveFraction
    fraction: PositiveFraction
    span: Count
    fractions: Section
    loss: Literal["auto", "cross_entropy", "l1"]
    by_l1: list[str]


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """lra's own options of the trainer, with what a run has had before they came.

    `lra.settings.added_keys` has those of Lightning's Trainer.
    """

    accelerator: Literal["cpu", "gpu"]
    devices: Processes
    num_nodes: Processes = 1
    precision: Literal["32-true", "tf32", "bf16-mixed", "16-mixed", "64-true"]
    accumulate_grad_batches: Count | Literal["auto"]
    dev_batch_size: BatchSize | None = None
    fused_optimizer: bool = False
    max_steps: Count | None
    threads: Count | None  # lra.training.machine.Machine knows how many are too many
    data_on_device: bool = False
    cuda_graph: bool | Literal["auto"] = False


@dataclass(frozen=True, kw_only=True)
class Callbacks:
    """Options of lra's own callbacks; further entries name a class."""

    log_every_steps: Count
    checkpoint_every_seconds: NonNegative


@dataclass(frozen=True, kw_only=True)
class Wandb:
    """lra's own options of the W&B run; the further ones are arguments of `wandb.init`."""

    project: str
    entity: str | None
    mode: Literal["offline", "online", "disabled"]
    when_unreachable: Literal["fail", "offline"]
    init_timeout_seconds: Positive
    log_model: bool


@dataclass(frozen=True, kw_only=True)
class Size:
    """The size of the data and the length of the run."""

    name: str


@dataclass(frozen=True, kw_only=True)
class Debug:
    """What a run measures of itself."""

    profiler: Literal["simple", "advanced"] | None


OPTIMIZER: Kinds = {  # options that many optimizers have, with the ranges that make sense; their classes have more
    "lr": Positive,
    "eps": Positive,  # 0 would divide a gradient of 0 by 0
    "weight_decay": NonNegative,
    "betas": tuple[Fraction, Fraction],
}
PARAMETER_GROUP: Kinds = {  # of parameters with their own settings of the optimizer
    **OPTIMIZER,
    "match": str,
    "lr_fraction": Positive,
}
IMAGES: Kinds = {  # what Pathfinder and Path-X have besides, as the task and as its data
    "difficulty": Literal["hard", "intermediate", "easy"],
    "split": Literal["permutation", "seed42"],
}
METHOD: Kinds = {"parameter_groups": Names}  # of an attention or a mixer, whose class does not take it
FLAGS_OF_WANDB = ("allow_val_change", "force", "save_code", "tensorboard", "sync_tensorboard", "monitor_gym")

GROUPS: dict[str, Kinds] = {  # `lra.settings.command_options` has the options of commands themselves
    "recipe": kinds_of(Recipe),
    "recipe.optimizer": OPTIMIZER,
    "pretrain": kinds_of(Pretrain),
    "attention": METHOD,
    "mixer": METHOD,
    "protocol": kinds_of(Protocol),
    "task": kinds_of(Task),
    "task.data": {  # what depends on the size
        "seq_len": Count,
        "max_length": Count,
        "min_length": Count,
        "side": Count,
        "drawn_side": Count,
        "train": Count,
        "dev": Count,
        "test": Count,
        "images": Count,
        "data_seed": Seed,
    },
    "trainer": {
        **kinds_of(Trainer),
        # Arguments of Lightning's Trainer that may be added, where it would take values that make no sense.
        "gradient_clip_val": Positive | None,  # 0 would clip nothing
        "limit_val_batches": Positive | None,  # with 0 no checkpoint would be best on dev
        "limit_test_batches": Positive | None,
    },
    "callbacks": kinds_of(Callbacks),
    "logger.wandb": {
        **kinds_of(Wandb),
        "tags": list[str] | None,  # lra.training.wandb_limits has what W&B takes
        "name": str | None,
        "group": str | None,
        "job_type": str | None,
        "notes": str | None,
        "config": Names | None,
        "config_include_keys": list[str] | None,
        "config_exclude_keys": list[str] | None,
        **dict.fromkeys(FLAGS_OF_WANDB, bool | None),
    },
    "size": kinds_of(Size),
    "debug": kinds_of(Debug),
    "paths": {"data": str, "runs": str, "run": str},
}
EFFECTIVE_WITH: dict[str, Effects] = {  # of options of these groups that may have no effect; a class's are its own
    "recipe": {"warmup_fraction": {}},  # for schedules that refer to it
    "task": {
        "least_count": {"protocol.text_symbols": Literal["characters"]},
        "pixel_mean": {"protocol.pixels": Literal["values"]},
        "pixel_std": {"protocol.pixels": Literal["values"]},
    },
    "trainer": {"gradient_clip_algorithm": {"gradient_clip_val": Positive}},
}
# Values of options that have no default.
EXAMPLES = {"trainer.gradient_clip_val": 1, "trainer.limit_val_batches": 10, "trainer.limit_test_batches": 10}
OF_IMAGES = ("pathfinder", "pathx")  # the tasks with the options of `IMAGES`
CLOSED = ("recipe", "pretrain", "protocol", "size", "debug", "paths")  # nothing reads another option; so a task of ours
PARAMETER_GROUPS = re.compile(r"(recipe|mixer|attention)\.parameter_groups\.[^.]+")
