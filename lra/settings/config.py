"""Compose configurations; know which settings change a result, their hash, and the folder of a run."""

import functools
import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path
from typing import Any

from hydra import compose, initialize_config_dir
from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra.core.config_search_path import ConfigSearchPath
from hydra.core.global_hydra import GlobalHydra
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import Override, OverrideType
from hydra.core.plugins import Plugins
from hydra.plugins.search_path_plugin import SearchPathPlugin
from omegaconf import DictConfig, OmegaConf, open_dict

from lra.base.files import checked_name
from lra.base.paths import (
    DESCRIPTION,
    conf_dir,
    conf_dirs,
    conf_groups,
    data_dir,
    runs_dir,
    users_conf_files,
)
from lra.runs.files import run_folder
from lra.runs.flatten_settings import hash_of, without_values_before
from lra.runs.record import NAMED
from lra.runs.schema import ALWAYS_RECORDED, own_model
from lra.settings.added_keys import added_settings, targets_of
from lra.types import UserError

# Config groups that can change a number of the result. All others (folders, loggers), and the seed, are not hashed.
SETTINGS = ("task", "protocol", "model", "recipe", "size")  # `settings` adds the attention, or the mixer
LOOKS_OF_TASK = ("sizes", "codec", "open_source")  # not hashed: the record has the hash of the data itself
ATTENTION = "attention"  # the mixer that is configured by `attention=NAME`
CONF = conf_dir()
AUTO = "auto"  # value of `trainer.accumulate_grad_batches`

for _name, _folder in (("data_dir", data_dir), ("runs_dir", runs_dir)):
    OmegaConf.register_new_resolver(f"lra.{_name}", lambda folder=_folder: str(folder()), replace=True)


def recipe_name(task: str, size: str, protocol: str) -> str:
    """Name the recipe of a task: `conf/recipe/TASK_SIZE.yaml`, else `TASK.yaml`, else `default.yaml`.

    Those of the protocol's own folder, `conf/recipe/PROTOCOL`, come first.

    Raises:
        UserError: when that folder has recipes of this size, but none for this task.
    """
    sized = tasks_with_recipe(protocol, size)
    if sized and task not in sized:
        raise UserError(
            f"protocol={protocol} has no recipe of task={task} at size={size}; choose one of task={','.join(sized)},"
            " another size, or type recipe=NAME",
            kind="unknown_choice",
            key="task",
            value=task,
            right=sized,
        )
    names = (f"{task}_{size}", task, "default")
    return first_file("recipe", (*(f"{protocol}/{name}" for name in names), *names))


def tasks_with_recipe(protocol: str, size: str) -> list[str]:
    """List the tasks for which a protocol's own folder, `conf/recipe/PROTOCOL`, has a recipe of this size."""
    files = (path for folder in conf_dirs() for path in (folder / "recipe" / protocol).glob(f"*_{size}.yaml"))
    return sorted({path.stem.removesuffix(f"_{size}") for path in files})


def model_name(task: str, size: str, protocol: str) -> str:
    """Name the model of a task: `conf/model/PROTOCOL/TASK_SIZE.yaml`, else `TASK.yaml`, `default.yaml`, the encoder."""
    return first_file("model", (*(f"{protocol}/{name}" for name in (f"{task}_{size}", task, "default")), "encoder"))


def options_name(mixer: str, task: str, size: str, protocol: str) -> str:
    """Name a protocol's options of a mixer for a task: `conf/protocol/PROTOCOL/MIXER_TASK_SIZE.yaml`, else
    `MIXER_TASK.yaml`, which need not be there.
    """
    return first_file("protocol", [f"{protocol}/{mixer}_{name}" for name in (f"{task}_{size}", task)])


def first_file(group: str, names: Sequence[str]) -> str:
    """Choose the first of some names of which a config group has a file in any configuration folder, else the last."""
    places = [folder / group for folder in conf_dirs()]
    return next((name for name in names if any((place / f"{name}.yaml").is_file() for place in places)), names[-1])


OmegaConf.register_new_resolver("lra.recipe", recipe_name, replace=True)
OmegaConf.register_new_resolver("lra.model", model_name, replace=True)
OmegaConf.register_new_resolver("lra.options", options_name, replace=True)
OmegaConf.register_new_resolver("lra.run_dir", lambda *, _root_: str(run_dir(_root_)), replace=True)


class OwnFolders(SearchPathPlugin):
    """Hydra plugin that adds the user's conf folders to the search path, after the project's own."""

    def manipulate_search_path(self, search_path: ConfigSearchPath) -> None:
        """Append the user's conf folders."""
        for folder in conf_dirs()[1:]:
            search_path.append("lra", f"file://{folder}")


def look_through_own_folders() -> None:
    """Register the plugin; a job of a Hydra launcher must do so again, because it starts without our plugin."""
    Plugins.instance().register(OwnFolders)


look_through_own_folders()


def load_config(name: str, overrides: Sequence[str] = (), *, with_hydra: bool = False) -> DictConfig:
    """Compose the configuration that `lra NAME OVERRIDES` would use, with the `hydra` node if `with_hydra`.

    Only the overrides that choose files need Hydra to compose; the values are then set in a copy, as Hydra sets them.
    So one command composes once for the check of its words, for its own settings and for its cells.
    """
    parsed = OverridesParser.create().parse_overrides(list(overrides))
    if not with_hydra:
        parsed = [word for word in parsed if word.is_sweep_override() or not word.is_hydra_override()]
    groups, files = conf_groups(), users_conf_files()
    values = [word for word in parsed if not _needs_composing(word, groups)]
    cfg = _compose(name, _in_one_order(word for word in parsed if word not in values), with_hydra, files)
    cfg = cfg.copy()
    ConfigLoaderImpl._apply_overrides_to_config(values, cfg)
    if with_hydra:
        cfg.hydra.overrides.task.extend([word.input_line for word in values])
    return cfg


def default_choice(group: str) -> str:
    """The choice of a config group in the defaults list of `lra train`."""
    defaults = OmegaConf.load(CONF / "train.yaml").defaults
    return next(str(entry[group]) for entry in defaults if group in entry)


def _needs_composing(word: Override, groups: Collection[str]) -> bool:
    """Tell whether an override may choose a file; sweeps too, which Hydra refuses."""
    return (
        word.is_sweep_override()
        or word.is_hydra_override()
        or word.package is not None
        or (word.key_or_group in groups and not isinstance(word.value(), dict))
    )


def _in_one_order(parsed: Iterable[Override]) -> tuple[str, ...]:
    """Sort the choices of groups by key, so that the same choices are composed once; additions keep their order."""
    ordered = sorted(parsed, key=lambda word: word.key_or_group if word.type is OverrideType.CHANGE else "~")
    return tuple(str(word.input_line) for word in ordered)


@functools.cache
def _compose(
    name: str, overrides: tuple[str, ...], with_hydra: bool, files: tuple[tuple[Path, int], ...]
) -> DictConfig:
    """Compose a configuration, once for the same choices of groups: composing takes 0.2 s or more, a copy 5 ms."""
    if not with_hydra:
        plain = None if overrides else without_defaults(CONF / f"{name}.yaml")
        if plain is not None:
            OmegaConf.set_struct(plain, True)
            return plain
        cfg = _compose(name, overrides, True, files).copy()
        with open_dict(cfg):
            del cfg["hydra"]
        return cfg
    return _composed(name, overrides)


def without_defaults(path: Path) -> DictConfig | None:
    """Read a configuration file that has no defaults list, so that there is nothing to compose; None if it has one."""
    content = OmegaConf.load(path)
    return content if isinstance(content, DictConfig) and "defaults" not in content else None


def _composed(name: str, overrides: tuple[str, ...]) -> DictConfig:
    """Let Hydra compose.

    Hydra keeps one global state. Inside a running command, that state is saved before and restored after.
    """
    look_through_own_folders()
    running = GlobalHydra.instance().hydra
    GlobalHydra.instance().clear()
    try:
        with initialize_config_dir(str(CONF), job_name="cli", version_base="1.3"):
            return without_descriptions(compose(name, list(overrides), return_hydra_config=True))
    finally:
        GlobalHydra.instance().hydra = running


def without_descriptions(cfg: DictConfig) -> DictConfig:
    """Take what describes an attention, a mixer or a task out of a configuration, in place; return it."""
    with open_dict(cfg):
        for group, keys in DESCRIPTION.items():
            for key in keys:
                if cfg.get(group) is not None:
                    cfg[group].pop(key, None)
    return cfg


def sweep_params(sweep: str) -> dict[str, str]:
    """What `conf/sweep/NAME.yaml` varies: each key with its values, as they would be typed."""
    path = next(path for folder in conf_dirs() if (path := folder / "sweep" / f"{sweep}.yaml").is_file())
    file = without_defaults(path)
    if file is None or "${" in OmegaConf.to_yaml(file):
        file = load_config("train", [f"sweep={sweep}"], with_hydra=True)
    params = OmegaConf.select(file, "hydra.sweeper.params") or {}
    return {str(key): str(values) for key, values in params.items()}


def method_name(cfg: DictConfig) -> str:
    """Name the method that a table row is called after: the attention, another mixer, or a whole model.

    A model of the user's own, in place of the shared encoder, has the `name` in its file or that of its class.
    """
    name: str = cfg[mixer_group(cfg)].name
    return own_model(cfg.model) or name


def mixes_by_attention(cfg: DictConfig) -> bool:
    """Tell whether the mixer is self-attention; the stored configuration of an older run has no `mixer`."""
    return "mixer" not in cfg or cfg.mixer.name == ATTENTION


def mixer_group(cfg: DictConfig) -> str:
    """Name the config group with the mixer's options: `attention`, or `mixer`."""
    return ATTENTION if mixes_by_attention(cfg) else "mixer"


def identity(cfg: DictConfig) -> dict[str, Any]:
    """Collect the words that name a run: those of its record, of its folder and of its row in a table."""
    return {
        "task": cfg.task.name,
        "attention": method_name(cfg),
        "protocol": cfg.protocol.name,
        "size": cfg.size.name,
        "seed": cfg.seed,
        "run_group": str(cfg.run_group),
    }


def wandb_mode(mode: str) -> str:
    """Translate the value of WANDB_MODE; WANDB_DISABLED=true, which W&B's integrations know, comes before it."""
    if os.environ.get("WANDB_DISABLED", "").lower() in ("true", "1", "yes", "on"):
        return "disabled"
    return {"": "offline", "dryrun": "offline", "run": "online"}.get(mode, mode)


OmegaConf.register_new_resolver("lra.wandb_mode", wandb_mode, replace=True)


def logs_to_wandb(cfg: DictConfig) -> bool:
    """Tell whether a W&B run is written: not with `logger=csv`, nor with `logger.wandb.mode=disabled`."""
    chosen = cfg.logger.get("wandb")  # `~logger.wandb` takes it away
    return chosen is not None and chosen.mode != "disabled"


def mixer_settings(cfg: DictConfig) -> dict[str, Any]:
    """Return name and options of the attention, or of the mixer in its place; interpolations are resolved."""
    return plain(cfg[mixer_group(cfg)])


def plain(cfg: DictConfig) -> dict[str, Any]:
    """Convert a configuration node to plain containers; interpolations are resolved."""
    container = OmegaConf.to_container(cfg, resolve=True)
    assert isinstance(container, dict)
    return {str(key): value for key, value in container.items()}


def settings(cfg: DictConfig) -> dict[str, Any]:
    """Collect the settings that change a result, except the seed; the record holds them, their hash is in the folder.

    A setting that was added later is left out at the value that all earlier runs had, so that their hashes stay.
    """
    chosen = {mixer_group(cfg): mixer_settings(cfg)} | {group: plain(cfg[group]) for group in SETTINGS}
    for key in LOOKS_OF_TASK:
        chosen["task"].pop(key, None)
    chosen = {group: without_values_before(values, group) for group, values in chosen.items()}
    trainer = {key: cfg.trainer[key] for key in ALWAYS_RECORDED} | {"accumulate_grad_batches": batch_parts(cfg)}
    if cfg.trainer.devices > 1:
        trainer["devices"] = cfg.trainer.devices
    if num_nodes(cfg) > 1:
        trainer["num_nodes"] = num_nodes(cfg)
    if cfg.get("compile"):  # changes rounding and the random draws of dropout
        trainer["compile"] = cfg.compile
    for key in ("fused_optimizer", "dev_batch_size"):  # change rounding; the second batch-wide constants too
        if cfg.trainer.get(key):
            trainer[key] = cfg.trainer[key]
    callbacks: dict[str, Any] = {}
    if targets_of(cfg.get("callbacks", {})):  # the stored configuration of a run has none
        named = cfg.copy()
        OmegaConf.update(named, "paths.run", "RUN")  # the run's folder, which would be named after this hash
        callbacks = plain(named.callbacks)
    added = added_settings(plain(cfg.trainer), callbacks)
    if cfg.get("tuned"):  # what was chosen says less without how: runs of another budget or space are others
        added["tuned"] = plain(cfg.tuned)
    return {**chosen, **added, "trainer": {**trainer, **added.get("trainer", {})}}


def batch_parts(cfg: DictConfig) -> int:
    """Return the number of parts of a batch with which a run begins.

    With `auto` it is 1, in the run's hash too. Such a run takes more parts when the batch does not fit into memory; its
    record has their number among its costs, because the same examples make the same step up to rounding.
    """
    parts = cfg.trainer.accumulate_grad_batches
    return 1 if parts == AUTO else int(parts)


def num_nodes(cfg: DictConfig) -> int:
    """Return the number of nodes; the stored configuration of an older run does not have it."""
    return int(cfg.trainer.get("num_nodes", 1))


def processes(cfg: DictConfig) -> int:
    """Return the number of processes that train one model together: one for each device of each node."""
    return int(cfg.trainer.devices) * num_nodes(cfg)


def use_one_device(cfg: DictConfig) -> None:
    """Change the configuration, in place, of a run of several processes to that of one."""
    cfg.trainer.devices = 1
    if num_nodes(cfg) > 1:
        cfg.trainer.num_nodes = 1


def config_hash(cfg: DictConfig) -> str:
    """Hash the settings to eight hex digits; two runs have the same hash if their settings are the same."""
    return hash_of(settings(cfg))


def store_dir(cfg: DictConfig) -> Path:
    """Folder of the task's prepared store."""
    return Path(cfg.paths.data, "stores", cfg.task.name, cfg.size.name)


def run_dir(cfg: DictConfig) -> Path:
    """Return the run's folder, which depends on the settings alone: the same command finds the run that it began."""
    names: dict[str, str] = {"attention": method_name(cfg), **{group: cfg[group].name for group in NAMED}}
    return run_folder(
        Path(cfg.paths.runs),
        checked_name(cfg.run_group, "run_group=", example="mine", nested=True),
        **{group: checked_name(name, f"{group}.name=", example="mine") for group, name in names.items()},
        steps=cfg.recipe.steps,
        config_hash=config_hash(cfg),
        seed=cfg.seed,
    )
