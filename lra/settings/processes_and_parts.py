"""How many processes a run has, and how many parts its batch has; `lra/training/machine.py` chooses the devices."""

from omegaconf import DictConfig

AUTO = "auto"  # value of `trainer.accumulate_grad_batches`


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


def num_processes(cfg: DictConfig) -> int:
    """Return the number of processes that train one model together: one for each device of each node."""
    return int(cfg.trainer.devices) * num_nodes(cfg)


def use_one_device(cfg: DictConfig) -> None:
    """Change the configuration, in place, of a run of several processes to that of one."""
    cfg.trainer.devices = 1
    if num_nodes(cfg) > 1:
        cfg.trainer.num_nodes = 1
