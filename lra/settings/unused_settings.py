"""Refuse what a file of the user's own sets though nothing reads it, such as `recipe: {batchsize: 64}`.

What is typed is checked word by word, and a class refuses arguments that it does not take. This is about the groups of
which no class is made.
"""

from __future__ import annotations

from functools import cache

import yaml
from omegaconf import DictConfig, OmegaConf

from lra.option_groups import CLOSED, Images
from lra.paths import conf_dir
from lra.settings.schema import OF_THE_FILE, declared_in_group
from lra.settings.unknown_options import PRINT, nearest
from lra.types import UserError


def refuse_unused(cfg: DictConfig, verb: str) -> None:
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
        _check(f"{group}.", cfg, [*declared_in_group(group), *Images.__annotations__, *OF_THE_FILE])


def _check(prefix: str, cfg: DictConfig, known: list[str]) -> None:
    node = OmegaConf.select(cfg, prefix.rstrip(".")) if prefix else cfg
    for name in map(str, node):
        if name not in known and f"{name}}}" not in OmegaConf.to_yaml(cfg):
            raise UserError(
                f"{prefix}{name}, from a file of your own, is a setting that nothing reads;"
                f" {nearest(f'{prefix}{name}', [f'{prefix}{other}' for other in known])}; {PRINT}",
                kind="unknown_option",
                key=f"{prefix}{name}",
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
