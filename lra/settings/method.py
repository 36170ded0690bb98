"""The method of a configuration: its attention, another mixer or a whole model; and the words that name a run."""

from typing import Any

from lra.runs.schema import Identity, own_model
from lra.settings.run_config import RunConfig

ATTENTION = "attention"  # the mixer that is configured by `attention=NAME`


def method_name(cfg: RunConfig) -> str:
    """Name the method that a table row is called after: the attention, another mixer, or a whole model.

    A model of the user's own, in place of the shared encoder, has the `name` in its file or that of its class.
    """
    return own_model(cfg.model) or str(mixer_settings(cfg)["name"])


def mixes_by_attention(cfg: RunConfig) -> bool:
    """Tell whether the mixer is self-attention; the stored configuration of an older run has no `mixer`."""
    return not cfg.has("mixer") or cfg.mixer.name == ATTENTION


def mixer_group(cfg: RunConfig) -> str:
    """Name the config group with the mixer's options: `attention`, or `mixer`."""
    return ATTENTION if mixes_by_attention(cfg) else "mixer"


def identity(cfg: RunConfig) -> Identity:
    """Collect the words that name a run: those of its record, of its folder and of its row in a table."""
    return {
        "task": cfg.task.name,
        "attention": method_name(cfg),
        "protocol": cfg.protocol.name,
        "size": cfg.size.name,
        "seed": cfg.seed,
        "run_group": str(cfg.run_group),
    }


def mixer_settings(cfg: RunConfig) -> dict[str, Any]:
    """Return name and options of the attention, or of the mixer in its place; interpolations are resolved."""
    return cfg.plain(mixer_group(cfg))
