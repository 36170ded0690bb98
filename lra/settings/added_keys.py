"""What a configuration adds with `+key=value`: arguments of the Trainer, callbacks, loggers."""

from collections.abc import Mapping
from typing import Any

from lra.base.option_types import kinds_of
from lra.runs.schema import TARGET
from lra.settings.option_groups import Callbacks, Trainer

OWN_ARGUMENTS = tuple(kinds_of(Trainer))
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
    "callbacks": (tuple(kinds_of(Callbacks)), "pytorch_lightning.callbacks.EarlyStopping"),
    "logger": (("wandb",), "pytorch_lightning.loggers.TensorBoardLogger"),
}
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
