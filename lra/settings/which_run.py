"""Which run a configuration is: the settings that can change its result, their hash, and its folder."""

from pathlib import Path
from typing import Any, Literal

from lra.base.files import checked_name
from lra.base.probes import probe_named
from lra.data.prepare_again import STORES
from lra.runs.files import run_folder
from lra.runs.schema import ALWAYS_RECORDED
from lra.runs.settings_hash import hash_of, without_values_before
from lra.settings.added_keys import added_settings, targets_of
from lra.settings.pretrain import loss_of_pretraining
from lra.settings.run_config import RunConfig

# Config groups that can change a number of the result. All others (folders, loggers), and the seed, are not hashed.
SETTINGS = ("task", "protocol", "model", "recipe", "size")  # `settings` adds the attention, or the mixer
BY_TASK = ("fractions", "by_l1")  # of `pretrain`, from which the task's own `fraction` and `loss` are taken
IN_PATHS: tuple[Literal["attention", "task", "protocol", "size"], ...] = ("attention", "task", "protocol", "size")
LOOKS_OF_TASK = ("sizes", "codec", "open_source")  # not hashed: the record has the hash of the data itself


def hashed_settings(cfg: RunConfig) -> dict[str, Any]:
    """Collect the settings that change a result, except the seed; the record holds them, their hash is in the folder.

    A setting that was added later is left out at the value that all earlier runs had, so that their hashes stay.
    """
    chosen = {cfg.mixer_group: cfg.mixer_settings} | {group: cfg.plain(group) for group in SETTINGS}
    for key in LOOKS_OF_TASK:
        chosen["task"].pop(key, None)
    chosen = {group: without_values_before(values, group) for group, values in chosen.items()}
    if cfg.is_pretrained:
        pretrain = cfg.plain("pretrain")  # of one that is taken, the hash of its run has all settings
        pretrain["loss"] = loss_of_pretraining(cfg)
        keys = ("name", "from") if cfg.taken_from else pretrain.keys() - {"from", *BY_TASK}
        chosen["pretrain"] = {key: pretrain[key] for key in pretrain if key in keys}
    given = cfg.plain("trainer")
    trainer = {key: given[key] for key in ALWAYS_RECORDED} | {"accumulate_grad_batches": cfg.batch_parts}
    if cfg.trainer.devices > 1:
        trainer["devices"] = cfg.trainer.devices
    if cfg.trainer.num_nodes > 1:
        trainer["num_nodes"] = cfg.trainer.num_nodes
    if cfg.compile:  # changes rounding and the random draws of dropout
        trainer["compile"] = cfg.compile
    for key in ("fused_optimizer", "dev_batch_size"):  # change rounding; the second batch-wide constants too
        if given.get(key):
            trainer[key] = given[key]
    callbacks: dict[str, Any] = {}
    if cfg.has("callbacks") and targets_of(cfg.composed.callbacks):  # the stored configuration of a run has none
        callbacks = cfg.changed({"paths.run": "RUN"}).plain("callbacks")  # that folder would be named after this hash
    added = added_settings(given, callbacks)
    if cfg.tuned:  # what was chosen says less without how: runs of another budget or space are others
        added["tuned"] = cfg.plain("tuned")
    return {**chosen, **added, "trainer": {**trainer, **added.get("trainer", {})}}


def config_hash(cfg: RunConfig) -> str:
    """Hash the settings to eight hex digits; two runs have the same hash if their settings are the same."""
    return hash_of(hashed_settings(cfg))


def store_dir(cfg: RunConfig) -> Path:
    """Folder of the task's prepared store.

    A probe has a store for each of its `data` settings, so that runs with several numbers of pairs, for example, do not
    stand in each other's way.
    """
    drawn = f"-{hash_of(cfg.task.data)}" if probe_named(cfg.task.name) else ""
    return Path(cfg.paths.data, STORES, cfg.task.name, f"{cfg.size.name}{drawn}")


def run_dir(cfg: RunConfig) -> Path:
    """Return the run's folder, which depends on the settings alone: the same command finds the run that it began."""
    names = cfg.identity
    checked_name(cfg.run_group, "run_group=", example="mine", nested=True)
    for group in IN_PATHS:
        checked_name(names[group], f"{group}.name=", example="mine")
    return run_folder(cfg.paths.runs, names, steps=cfg.recipe.steps, config_hash=config_hash(cfg))
