"""The stage of self-pretraining: its loss and its configuration."""

from lra.settings.run_config import RunConfig

SOURCE = "pretrain.from"
CROSS_ENTROPY, L1 = "cross_entropy", "l1"
OF_RECIPE = {"steps": "steps", "eval_every": "eval_every", "warmup_fraction": "warmup_fraction", "lr": "optimizer.lr"}


def predicts_values(cfg: RunConfig) -> bool:
    """Tell whether the encoder reads real values of pixels, so that a loss may be a distance."""
    return bool(cfg.model.get("inputs") == "values")


def loss_of_pretraining(cfg: RunConfig) -> str:
    """Return the loss: that of `pretrain.loss`, where `auto` is L1 for tasks whose authors use it on real values."""
    chosen = cfg.value("pretrain.loss") or CROSS_ENTROPY  # a foreign stored configuration may lack it
    if chosen != "auto":
        return str(chosen)
    return L1 if predicts_values(cfg) and cfg.task.name in cfg.pretrain.by_l1 else CROSS_ENTROPY


def stage_config(cfg: RunConfig) -> RunConfig:
    """Copy a configuration, with the recipe of its pretraining: what `pretrain` does not have is the recipe's."""
    values = {key: getattr(cfg.pretrain, key) for key in OF_RECIPE}  # of `cfg`: some refer to the recipe
    own = {f"pretrain.{key}": value for key, value in values.items()}
    return cfg.changed({**own, **{f"recipe.{OF_RECIPE[key]}": value for key, value in values.items()}})
