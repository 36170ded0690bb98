"""Whether a run is logged to W&B, and in which mode."""

import os

from lra.settings.run_config import RunConfig


def wandb_mode(mode: str) -> str:
    """Translate the value of WANDB_MODE; WANDB_DISABLED=true, which W&B's integrations know, comes before it."""
    if os.environ.get("WANDB_DISABLED", "").lower() in ("true", "1", "yes", "on"):
        return "disabled"
    return {"": "offline", "dryrun": "offline", "run": "online"}.get(mode, mode)


def logs_to_wandb(cfg: RunConfig) -> bool:
    """Tell whether a W&B run is written: not with `logger=csv`, nor with `logger.wandb.mode=disabled`."""
    chosen = cfg.value("logger.wandb")  # `~logger.wandb` takes it away
    return chosen is not None and chosen["mode"] != "disabled"
