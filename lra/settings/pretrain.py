"""Whether a run's encoder is pretrained, and the configuration of that stage."""

from omegaconf import DictConfig, OmegaConf

SOURCE = "pretrain.from"
CROSS_ENTROPY, L1 = "cross_entropy", "l1"
OF_RECIPE = {"steps": "steps", "eval_every": "eval_every", "warmup_fraction": "warmup_fraction", "lr": "optimizer.lr"}


def is_pretrained(cfg: DictConfig) -> bool:
    """Tell whether a stage of self-pretraining comes first; the stored configuration of an older run does not say."""
    return bool(OmegaConf.select(cfg, "pretrain.name", default="none") != "none")


def taken_from(cfg: DictConfig) -> str | None:
    """Return the hash of the settings of the earlier run whose pretraining is taken; None if the run trains its own."""
    digits: str | None = OmegaConf.select(cfg, SOURCE)
    return digits


def predicts_values(cfg: DictConfig) -> bool:
    """Tell whether the encoder reads real values of pixels, so that a loss may be a distance."""
    return bool(OmegaConf.select(cfg, "model.inputs") == "values")


def loss_of_pretraining(cfg: DictConfig) -> str:
    """Return the loss: that of `pretrain.loss`, where `auto` is L1 for tasks whose authors use it on real values."""
    chosen = str(OmegaConf.select(cfg, "pretrain.loss", default=CROSS_ENTROPY))
    if chosen != "auto":
        return chosen
    return L1 if predicts_values(cfg) and cfg.task.name in cfg.pretrain.by_l1 else CROSS_ENTROPY


def stage_config(cfg: DictConfig) -> DictConfig:
    """Copy a configuration, with the recipe of its pretraining: what `pretrain` does not have is the recipe's."""
    stage = cfg.copy()
    values = {key: cfg.pretrain[key] for key in OF_RECIPE}  # first all: some refer to the recipe
    for key, of_recipe in OF_RECIPE.items():
        OmegaConf.update(stage, f"pretrain.{key}", values[key])
        OmegaConf.update(stage, f"recipe.{of_recipe}", values[key])
    return stage
