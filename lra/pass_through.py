"""What a configuration may add with `+key=value`: arguments of Lightning's Trainer, callbacks, loggers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lra.types import UserError

OWN_ARGUMENTS = (
    *("accelerator", "devices", "precision", "accumulate_grad_batches", "max_steps", "threads"),
    *("fused_optimizer", "data_on_device"),
)
ENTRIES = {  # groups whose entries are made from config: their own settings, and an example of a class
    "callbacks": (("log_every_steps", "checkpoint_every_seconds"), "pytorch_lightning.callbacks.EarlyStopping"),
    "logger": (("wandb",), "pytorch_lightning.loggers.TensorBoardLogger"),
}
TARGET = "_target_"  # Hydra's key for the class that a group of settings is passed to
TRAINER_ARGUMENTS = (
    "gradient_clip_val",
    "gradient_clip_algorithm",
    "deterministic",
    "benchmark",
    "inference_mode",
    "detect_anomaly",
    "limit_val_batches",
    "limit_test_batches",
    "max_time",
)
CHANGES_NO_NUMBER = ("max_time", "detect_anomaly")  # the only ones that are not in the run's hash
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
}


def trainer_arguments(trainer: Mapping[str, Any]) -> dict[str, Any]:
    """Collect the added arguments of Lightning's Trainer that are not null, from the settings of the trainer."""
    return {name: trainer[name] for name in TRAINER_ARGUMENTS if trainer.get(name) is not None}


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


def check_additions(settings: Mapping[str, Any]) -> None:
    """Refuse an added setting of the trainer, the callbacks or the loggers that nothing would read.

    Args:
        settings: a whole configuration, or some of its groups.

    Raises:
        UserError: with the setting, and what is right.
    """
    for name in settings.get("trainer", {}):
        if name not in (*OWN_ARGUMENTS, *TRAINER_ARGUMENTS):
            raise UserError(trainer_advice(str(name)))
    for group, (own, example) in ENTRIES.items():
        entries = settings.get(group, {})
        made = targets_of(entries)
        for name in entries:
            if name not in own and name not in made:
                raise UserError(
                    f"{group}.{name} names no class, so nothing would be made of it; type for example"
                    f" +{group}.{name}.{TARGET}={example}"
                )


def trainer_advice(name: str) -> str:
    """Word what to type in place of a setting of the trainer that is not known, or that lra sets itself."""
    if name in INSTEAD:
        return f"trainer.{name} is set by lra itself; type for example {INSTEAD[name]}"
    if name in TRAINER_ARGUMENTS:
        return f"trainer.{name} has no default; to add it type +trainer.{name}=VALUE"
    return f"trainer.{name} is no setting; of Lightning's Trainer there are +trainer.{', '.join(TRAINER_ARGUMENTS)}"
