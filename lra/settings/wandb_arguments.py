"""The arguments of `wandb.init` for a run: from `logger.wandb`, W&B's environment variables, and the run's names."""

from collections.abc import Mapping, Sequence
from typing import Any

from lra.settings.run_config import RunConfig
from lra.training.wandb_limits import as_arguments, check_names, names_of_run


def wandb_arguments(
    cfg: RunConfig, *, name: str, job_type: str, tags: Sequence[str], config: Mapping[str, object]
) -> dict[str, Any]:
    """Collect the arguments: `logger.wandb`, whose own name, group or job type replace these here.

    So do those of W&B's environment variables. Tags and keys of the config are added to these here.

    Raises:
        UserError: for what W&B would refuse.
    """
    own = cfg.value("logger.wandb")
    options = {value: cfg.mixer_group if option == "attention" else option for option, value in cfg.identity.items()}
    ours = {
        "name": (name, "the run's name"),
        "group": (str(cfg.run_group), "run_group"),
        "job_type": (job_type, options.get(job_type, "the verb")),
    }
    names = names_of_run(own, ours, {tag: options.get(tag, "the verb") for tag in tags})
    config = {**config, **(own.get("config") or {})}
    check_names(names, config)
    return {**own, **as_arguments(names), "config": config}


def names_of_training(cfg: RunConfig) -> dict[str, Any]:
    """Name the W&B run of a training: the `name`, `job_type` and `tags` for `wandb_arguments`."""
    task, method = cfg.task.name, cfg.method_name
    tags = [task, method, cfg.protocol.name, cfg.size.name]
    return {"name": f"{task}/{method}/{cfg.seed}", "job_type": task, "tags": tags}
