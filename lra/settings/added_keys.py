"""What a configuration adds with `+key=value`: arguments of the Trainer, callbacks, loggers; and the check of it."""

from collections.abc import Mapping
from difflib import get_close_matches
from functools import cache
from inspect import signature
from typing import Any

from lra.runs.schema import TARGET
from lra.settings.option_groups import Callbacks, Trainer
from lra.types import UserError

OWN_ARGUMENTS = tuple(Trainer.__annotations__)
CHANGES_NO_NUMBER = ("max_time", "detect_anomaly", "enable_progress_bar", "enable_model_summary")  # not in the hash


def trainer_arguments(trainer: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the added arguments of Lightning's Trainer that are not null, from the settings of the trainer."""
    return {str(name): trainer[name] for name in trainer if name not in OWN_ARGUMENTS and trainer[name] is not None}


def targets_of(group: Mapping[str, Any]) -> dict[str, Any]:
    """Collect those entries of a config group that name a class to make, such as `callbacks.early_stopping`."""
    entries = {str(name): group[name] for name in group}
    return {name: entry for name, entry in entries.items() if isinstance(entry, Mapping) and TARGET in entry}


def added_settings(trainer: Mapping[str, Any], callbacks: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Collect what was added and may change a number of the result, for the run's hash and its record.

    Callbacks always count: whether one changes a number cannot be known from its name.
    """
    arguments = {name: value for name, value in trainer_arguments(trainer).items() if name not in CHANGES_NO_NUMBER}
    return {key: added for key, added in (("trainer", arguments), ("callbacks", targets_of(callbacks))) if added}


USER_GROUPS = {  # groups whose entries are made from config: their own settings, and an example of a class
    "callbacks": (tuple(Callbacks.__annotations__), "pytorch_lightning.callbacks.EarlyStopping"),
    "logger": (("wandb",), "pytorch_lightning.loggers.TensorBoardLogger"),
}
LIMITS = ("limit_val_batches", "limit_test_batches")
INSTEAD = {  # arguments of the Trainer that lra sets itself, and the setting that says the same
    "max_epochs": "recipe.steps=5000",
    "min_epochs": "recipe.steps=5000",
    "min_steps": "recipe.steps=5000",
    "limit_train_batches": "recipe.steps=5000",
    "val_check_interval": "recipe.eval_every=50",
    "check_val_every_n_epoch": "recipe.eval_every=50",
    "log_every_n_steps": "callbacks.log_every_steps=10",
    "callbacks": "callbacks=early_stopping",
    "logger": "logger=csv",
    "profiler": "debug=profile",
    "strategy": "trainer.devices=2",
    "fast_dev_run": "size=tiny",
    "overfit_batches": "size=tiny",
    "default_root_dir": "paths.runs=FOLDER",
    "use_distributed_sampler": "trainer.devices=2",
    "enable_checkpointing": "callbacks.checkpoint_every_seconds=60",
    "num_sanity_val_steps": "recipe.eval_every=50",
    "reload_dataloaders_every_n_epochs": "recipe.steps=5000",
}


CALLBACKS_INSTEAD = {  # Lightning's callbacks that need epochs, or change what a step is; what does the same here
    "StochasticWeightAveraging": "callbacks=ema",
    "GradientAccumulationScheduler": "trainer.accumulate_grad_batches=2",
    "BatchSizeFinder": "trainer.accumulate_grad_batches=auto",
    "LearningRateFinder": "recipe.optimizer.lr=0.001",
}


@cache
def trainers_own() -> list[str]:
    """List the arguments of Lightning's Trainer that may be added: all but those that lra sets itself."""
    from pytorch_lightning import Trainer  # slow to import, and needed only where something is added

    return [name for name in signature(Trainer).parameters if name not in (*OWN_ARGUMENTS, *INSTEAD)]


def check_additions(settings: Mapping[str, Any]) -> None:
    """Refuse an added setting of the trainer, the callbacks or the loggers that nothing would read.

    Args:
        settings: a whole configuration, or some of its groups.

    Raises:
        UserError: with the setting, and what is right.
    """
    trainer = settings.get("trainer", {})
    for name in trainer:
        if name not in OWN_ARGUMENTS and name not in trainers_own():
            raise UserError(trainer_advice(str(name)), kind="unknown_option", key=f"trainer.{name}")
    for name in LIMITS:
        if name in trainer and trainer[name] is not None and not trainer[name]:
            raise UserError(
                f"trainer.{name}={trainer[name]} leaves nothing to measure: the checkpoint that is best on dev is"
                f" tested; type for example +trainer.{name}=10, or leave it out",
                kind="wrong_value",
                key=f"trainer.{name}",
                value=trainer[name],
                right=f"+trainer.{name}=10",
            )
    to_wandb = settings.get("logger", {}).get("wandb")
    if to_wandb is not None and "mode" not in to_wandb:
        raise UserError("logger.wandb has options, but no W&B run was chosen; type logger=wandb, or take them away")
    for group, (own, example) in USER_GROUPS.items():
        entries = settings.get(group, {})
        with_class = targets_of(entries)
        for name, entry in with_class.items():
            called = str(entry[TARGET]).rpartition(".")[2]
            if called in CALLBACKS_INSTEAD:
                raise UserError(
                    f"{group}.{name}: {called} needs Lightning's epochs and batches, and lra counts steps; type"
                    f" {CALLBACKS_INSTEAD[called]} in its place"
                )
        for name in entries:
            if name not in own and name not in with_class:
                right = f"+{group}.{name}.{TARGET}={example}"
                raise UserError(
                    f"{group}.{name} names no class, so nothing would be made of it; type for example {right}",
                    kind="missing_option",
                    key=f"{group}.{name}.{TARGET}",
                    right=right,
                )


def trainer_advice(name: str) -> str:
    """Word what to type in place of a setting of the trainer that is not known, or that lra sets itself."""
    if name in INSTEAD:
        return f"trainer.{name} is set by lra itself; type for example {INSTEAD[name]}"
    known = trainers_own()
    if name in known:
        return f"trainer.{name} has no default; to add it type +trainer.{name}=VALUE"
    near = get_close_matches(name, [*OWN_ARGUMENTS, *known], n=1)
    if near:
        added = "" if near[0] in OWN_ARGUMENTS else "+"
        return f"unknown option trainer.{name}; did you mean {added}trainer.{near[0]}?"
    return f"unknown option trainer.{name}; of Lightning's Trainer there are +trainer.{', '.join(known)}"
