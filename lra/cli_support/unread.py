"""Refuse what a file of the user's own sets though nothing reads it, such as `recipe: {batchsize: 64}`.

What is typed is checked word by word, and a class refuses arguments that it does not take. This is about the groups of
which no class is made.
"""

from __future__ import annotations

from functools import cache

import yaml
from omegaconf import DictConfig, OmegaConf

from lra.cli_support.known_settings import PRINT, nearest
from lra.paths import conf_dir
from lra.types import UserError

CLOSED = ("recipe", "protocol", "size", "debug", "paths")  # a task too, unless it is of the user's own


def check_all_read(cfg: DictConfig, verb: str) -> None:
    """Refuse a composed configuration with a setting that nothing reads.

    A setting that another one refers to, as in `lr: ${recipe.my_rate}`, is read.

    Args:
        cfg: the configuration, with its interpolations.
        verb: the verb that composed it.

    Raises:
        UserError: with the setting, and the one that is most like it.
    """
    groups = [group for group in CLOSED if group in cfg]
    if "task" in cfg and (conf_dir() / "task" / f"{cfg.task.name}.yaml").is_file():
        groups += ["task", "task.data"]
    _check("", cfg, [*_names_in(verb), *CLOSED])  # a size brings its recipe along, to verbs that do not train too
    for group in groups:
        _check(f"{group}.", cfg, _known(group))


def _check(prefix: str, cfg: DictConfig, known: list[str]) -> None:
    node = OmegaConf.select(cfg, prefix.rstrip(".")) if prefix else cfg
    for name in map(str, node):
        if name not in known and f"{name}}}" not in OmegaConf.to_yaml(cfg):
            raise UserError(
                f"{prefix}{name}, from a file of your own, is a setting that nothing reads;"
                f" {nearest(f'{prefix}{name}', [f'{prefix}{other}' for other in known])}; {PRINT}"
            )


@cache
def _names_in(verb: str) -> frozenset[str]:
    """The settings and config groups in a verb's file, and in that which its defaults list begins with."""
    content = yaml.safe_load((conf_dir() / f"{verb}.yaml").read_text("utf-8"))
    names = set(content) - {"defaults", "hydra"}
    for entry in content.get("defaults", []):
        if isinstance(entry, dict):
            chosen = (group for group, choice in entry.items() if choice is not None)
            names |= {group for group in chosen if not group.startswith("override ")}
        elif entry != "_self_":
            names |= _names_in(entry)
    return frozenset(names)


@cache
def _known(group: str) -> list[str]:
    """List the settings of all choices of a group in the project's own tree."""
    folder, _, part = group.partition(".")
    files = [yaml.safe_load(path.read_text("utf-8")) for path in sorted((conf_dir() / folder).glob("*.yaml"))]
    trees = [file.get(folder, file) for file in files]  # a file of the global package names its group
    if part == "data":
        trees = [size for tree in trees for size in tree["sizes"].values()]
    return sorted({name for tree in trees for name in tree if name != "defaults"})
