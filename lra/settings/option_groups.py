"""The options of the groups that no class is made from, by name with their types; a class's are in its signature."""

import re
from typing import Annotated, Any, Literal

from annotated_types import Ge, Le

from lra.base.option_types import (
    AtLeastTwo,
    BatchSize,
    Count,
    CountOrZero,
    Effects,
    Fraction,
    NonNegative,
    Positive,
    PositiveFraction,
    Seed,
)
from lra.base.protocol import PROTOCOL, DevSplit, ListopsBrackets, TextLength

Kinds = dict[str, Any]
Processes = Annotated[int, Ge(1), Le(1024)]
Compile = bool | Literal["reduce-overhead", "max-autotune"]
Group = dict[str, Any]

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
METHOD: Kinds = {"parameter_groups": Group}  # of an attention or a mixer, whose class does not take it
TRAINER: Kinds = {  # lra's own options; `lra.settings.added_keys` has those of Lightning's Trainer
    "accelerator": Literal["cpu", "gpu"],
    "devices": Processes,
    "num_nodes": Processes,
    "precision": Literal["32-true", "tf32", "bf16-mixed", "16-mixed", "64-true"],
    "accumulate_grad_batches": Count | Literal["auto"],
    "dev_batch_size": BatchSize | None,
    "fused_optimizer": bool,
    "max_steps": Count | None,
    "threads": Count | None,  # lra.training.machine.Machine knows how many are too many
    "data_on_device": bool,
    "cuda_graph": bool | Literal["auto"],
}
CALLBACKS: Kinds = {  # their own options; further entries name a class
    "log_every_steps": Count,
    "checkpoint_every_seconds": NonNegative,
}
FLAGS_OF_WANDB = ("allow_val_change", "force", "save_code", "tensorboard", "sync_tensorboard", "monitor_gym")

GROUPS: dict[str, Kinds] = {
    "": {  # of a command itself; its YAML file says which of them it has
        "seed": Seed,
        "run_group": str,
        "source": str,
        **dict.fromkeys(("out", "to", "from", "into", "file", "figure", "figures"), str),
        "finished": Literal["refuse", "show"],
        "notes": Literal["short", "all"],
        "figure_columns": Literal[1, 2],
        "compile": Compile,
        "check": bool,
        "verify": bool,
        "force": bool,
        "predictions": CountOrZero,
        "workers": Processes,
        "workers_per_device": Processes,
        "budget": Count,
        "search": str,
        "flops": bool,
        "tuned": Group | None,
        "steps": Count,
        "dev_batches": Count,
        "top": Count,
        "batch": Count,
        "heads": Count,
        "head_dim": Count,
        "repeats": Count,
        "threads": Count | None,
        "cell_seconds": Positive,
        "dtype": Literal["float32", "float64", "bfloat16", "float16"],
        "device": Literal["cpu", "cuda"],
        "against": Literal["pypi"] | None,
        "packed": Literal["auto", "true", "false"] | bool,
        "examples": CountOrZero,
        "sequences": Count,
        "samples": CountOrZero,
        "split": Literal["train", "dev", "test"],
    },
    "recipe": {
        "batch_size": BatchSize,
        "steps": AtLeastTwo,  # the schedule ends at a rate of 0
        "warmup_fraction": PositiveFraction,
        "eval_every": Count,
        "optimizer": Group,
        "schedule": Group,
        "parameter_groups": Group,
    },
    "recipe.optimizer": OPTIMIZER,
    "pretrain": {
        "name": Literal["none", "masked"],
        "from": str | None,
        "steps": AtLeastTwo,
        "eval_every": Count,
        "lr": Positive,
        "warmup_fraction": PositiveFraction,
        "fraction": PositiveFraction,
        "span": Count,
        "fractions": Group,
        "loss": Literal["auto", "cross_entropy", "l1"],
        "by_l1": list[str],
    },
    "attention": METHOD,
    "mixer": METHOD,
    "protocol": PROTOCOL,
    "task": {  # one of a user's own may have more
        "name": str,
        "spec": Group,
        "mask_zero": bool,
        "dev_split": DevSplit,
        "longest": TextLength | None,
        "listops_brackets": ListopsBrackets | None,
        "vocabulary": AtLeastTwo,
        "least_count": Count,
        "pixel_mean": float,
        "pixel_std": Positive,
        "codec": Group,
        "open_source": Group,
        "data": Group,
        "sizes": Group,
    },
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
        **TRAINER,
        # Arguments of Lightning's Trainer that may be added, where it would take values that make no sense.
        "gradient_clip_val": Positive | None,  # 0 would clip nothing
        "limit_val_batches": Positive | None,  # with 0 no checkpoint would be best on dev
        "limit_test_batches": Positive | None,
    },
    "callbacks": CALLBACKS,
    "logger.wandb": {  # lra's own; the further ones are arguments of `wandb.init`
        "project": str,
        "entity": str | None,
        "mode": Literal["offline", "online", "disabled"],
        "when_unreachable": Literal["fail", "offline"],
        "init_timeout_seconds": Positive,
        "log_model": bool,
        "tags": list[str] | None,  # lra.training.wandb_limits has what W&B takes
        "name": str | None,
        "group": str | None,
        "job_type": str | None,
        "notes": str | None,
        "config": Group | None,
        "config_include_keys": list[str] | None,
        "config_exclude_keys": list[str] | None,
        **dict.fromkeys(FLAGS_OF_WANDB, bool | None),
    },
    "size": {"name": str},
    "debug": {"profiler": Literal["simple", "advanced"] | None},
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
