"""The settings that can change a result, and their hash."""

from typing import Any

from lra.base.settings_hash import hash_of
from lra.runs.later_settings import without_values_before
from lra.runs.schema import ALWAYS_RECORDED
from lra.settings.added_keys import added_settings, targets_of
from lra.settings.method import mixer_group, mixer_settings
from lra.settings.pretrain import is_pretrained, loss_of_pretraining, taken_from
from lra.settings.processes_and_parts import batch_parts
from lra.settings.run_config import RunConfig

# Config groups that can change a number of the result. All others (folders, loggers), and the seed, are not hashed.
SETTINGS = ("task", "protocol", "model", "recipe", "size")  # `settings` adds the attention, or the mixer
BY_TASK = ("fractions", "by_l1")  # of `pretrain`, from which the task's own `fraction` and `loss` are taken
LOOKS_OF_TASK = ("sizes", "codec", "open_source")  # not hashed: the record has the hash of the data itself


def hashed_settings(cfg: RunConfig) -> dict[str, Any]:
    """Collect the settings that change a result, except the seed; the record holds them, their hash is in the folder.

    A setting that was added later is left out at the value that all earlier runs had, so that their hashes stay.
    """
    chosen = {mixer_group(cfg): mixer_settings(cfg)} | {group: cfg.plain(group) for group in SETTINGS}
    for key in LOOKS_OF_TASK:
        chosen["task"].pop(key, None)
    chosen = {group: without_values_before(values, group) for group, values in chosen.items()}
    if is_pretrained(cfg):
        pretrain = cfg.plain("pretrain")  # of one that is taken, the hash of its run has all settings
        pretrain["loss"] = loss_of_pretraining(cfg)
        keys = ("name", "from") if taken_from(cfg) else pretrain.keys() - {"from", *BY_TASK}
        chosen["pretrain"] = {key: pretrain[key] for key in pretrain if key in keys}
    given = cfg.plain("trainer")
    trainer = {key: given[key] for key in ALWAYS_RECORDED} | {"accumulate_grad_batches": batch_parts(cfg)}
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
