"""How many processes a run has, and how many parts its batch has; `lra/training/machine.py` chooses the devices."""

from lra.settings.run_config import RunConfig

AUTO = "auto"  # value of `trainer.accumulate_grad_batches`


def batch_parts(cfg: RunConfig) -> int:
    """Return the number of parts of a batch with which a run begins.

    With `auto` it is 1, in the run's hash too. Such a run takes more parts when the batch does not fit into memory; its
    record has their number among its costs, because the same examples make the same step up to rounding.
    """
    parts = cfg.trainer.accumulate_grad_batches
    return 1 if parts == "auto" else parts


def num_processes(cfg: RunConfig) -> int:
    """Return the number of processes that train one model together: one for each device of each node."""
    return cfg.trainer.devices * cfg.trainer.num_nodes


def on_one_device(cfg: RunConfig) -> RunConfig:
    """Change the configuration of a run of several processes to that of one."""
    nodes = {"trainer.num_nodes": 1} if cfg.trainer.num_nodes > 1 else {}
    return cfg.changed({"trainer.devices": 1, **nodes})
