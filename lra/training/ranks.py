"""The processes that train one model together (DDP): start them, find the rank of this one, collect their results."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from lra.base.openmp import share_of_threads
from lra.base.printed_commands import typed_command
from lra.base.processes import Child, python_module, stop, wait_any
from lra.types import UserError

if TYPE_CHECKING:  # importing torch is slow, and a finished run, which asks `is_launched`, does not need it
    import torch

T = TypeVar("T")
LAUNCHED = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")  # torchrun sets all of them, as we do
SRUN = ("SLURM_PROCID", "SLURM_STEP_NUM_TASKS")  # srun sets both; a batch script has only the first
PER_NODE = "LOCAL_WORLD_SIZE"  # of torchrun: the number of its processes on this node
LOCALHOST = "127.0.0.1"
PATIENCE_SECONDS = 3.0  # short: a process in a collective call handles no signal, and a killed run resumes exactly


def is_launched(processes: int) -> bool:
    """Tell whether `lra train`, torchrun or SLURM's srun has started this process as one of so many processes.

    False: this process trains alone, or has to start the others. Variables of other launchers are ignored.

    Raises:
        UserError: when torchrun has started another number of processes.
    """
    return _launched_rank(processes) is not None


def rank(processes: int) -> int:
    """Return the rank of this process among all those that train together; 0 if it is alone."""
    return _launched_rank(processes) or 0


def local_rank(processes: int) -> int:
    """Return the rank of this process among those of them that are on its machine; 0 if it is alone."""
    if not is_launched(processes):
        return 0
    return _numbers(("SLURM_LOCALID",) if by_srun(processes) else ("LOCAL_RANK",))[0]


def set_rank_zero() -> None:
    """Tell Lightning that this process is the first one: another launcher may have left its RANK behind."""
    from pytorch_lightning.utilities import rank_zero_only  # slow, and `is_launched` is asked at once

    rank_zero_only.rank = 0  # type: ignore[attr-defined]


def by_srun(processes: int) -> bool:
    """Tell whether SLURM's srun has started this process as one of so many processes."""
    return processes > 1 and not _numbers(LAUNCHED[:3]) and _numbers(SRUN)[1:] == [processes]


def check_launch(devices: int, num_nodes: int) -> None:
    """Refuse several nodes whose processes nobody has started, and processes that are on another number of nodes.

    Raises:
        UserError: with the command that starts them, or with the numbers to type.
    """
    processes = devices * num_nodes
    if not is_launched(processes):
        if num_nodes > 1:
            typed, torchrun = typed_command("train"), f"torchrun --nnodes={num_nodes} --nproc-per-node={devices}"
            raise UserError(
                f"trainer.num_nodes={num_nodes}, but nobody has started a process for each device; type: srun"
                f" --nodes={num_nodes} --ntasks-per-node={devices} {typed}, or on node N of 0 to {num_nodes - 1}:"
                f" {torchrun} --node-rank=N --master-addr=HOST -m {typed}",
                kind="not_launched",
                key="trainer.num_nodes",
                value=num_nodes,
            )
        return
    by_slurm = by_srun(processes)
    counts = _numbers(("SLURM_STEP_NUM_NODES" if by_slurm else PER_NODE,))
    nodes = counts[0] if by_slurm and counts else processes // counts[0] if counts else num_nodes
    if nodes != num_nodes:
        right = _devices_and_nodes(processes, nodes)
        raise UserError(
            f"{processes} processes were started on {nodes} nodes, but trainer.num_nodes={num_nodes}; type {right}",
            kind="wrong_value",
            key="trainer.num_nodes",
            value=num_nodes,
            right=right,
        )


def _devices_and_nodes(processes: int, nodes: int) -> str:
    return f"trainer.devices={processes // nodes}" + (f" trainer.num_nodes={nodes}" if nodes > 1 else "")


def _launched_rank(processes: int) -> int | None:
    if processes == 1:
        return None
    if by_srun(processes):
        return _numbers(SRUN)[0]
    if any(not os.environ.get(name) for name in LAUNCHED):
        return None
    number, _, count = _numbers(LAUNCHED[:3]) or (0, 0, 1)
    if count not in (1, processes) or number >= count:
        here = (_numbers((PER_NODE,)) or [count])[0]
        right = _devices_and_nodes(count, max(count // max(here, 1), 1))
        raise UserError(
            f"this is process {number} of {count} (RANK, WORLD_SIZE), but trainer.devices × trainer.num_nodes is"
            f" {processes}; type {right}, or: unset {' '.join(LAUNCHED)}",
            kind="wrong_value",
            key="trainer.devices",
            value=processes,
            right=right,
        )
    return number if count == processes else None


def _numbers(names: tuple[str, ...]) -> list[int]:
    """Read environment variables as whole numbers; return an empty list if one is missing or is no number."""
    texts = [os.environ.get(name, "") for name in names]
    return [int(text) for text in texts] if all(text.isdecimal() for text in texts) else []


def gather(own: T) -> list[T]:
    """Collect one object from every process, in the order of ranks."""
    from torch import distributed

    if not distributed.is_initialized():
        return [own]
    gathered: list[T | None] = [None] * distributed.get_world_size()
    distributed.all_gather_object(gathered, own)
    return gathered  # type: ignore[return-value]  # no element is None any more


def leave_process_group() -> None:
    """Leave the processes that train together; all of them call this when nothing is left to collect.

    A process that ends without it may be killed by SIGABRT: Gloo's threads can still hold tensors of the last
    collective call while Python shuts down.
    """
    from torch import distributed

    if distributed.is_initialized():
        distributed.destroy_process_group()


def rank_in_group() -> int:
    """Return the index of this process's object in the result of `gather`."""
    from torch import distributed

    return distributed.get_rank() if distributed.is_initialized() else 0


def mean_over_ranks(number: torch.Tensor) -> torch.Tensor:
    """Return the mean of a number over all processes that train together, on its device; all of them call this."""
    from torch import distributed

    if not distributed.is_initialized():
        return number
    total = number.clone()
    distributed.all_reduce(total)
    return total / distributed.get_world_size()


def interleave(parts: list[list[torch.Tensor]]) -> list[torch.Tensor]:
    """Restore the order of batches when process r of W had the batches r, r + W, r + 2 W …"""
    count = sum(len(part) for part in parts)
    return [parts[number % len(parts)][number // len(parts)] for number in range(count)]


def spawn_ranks(devices: int, overrides: Sequence[str]) -> tuple[int, str]:
    """Run `lra train OVERRIDES` in `devices` processes; when one fails, end the others.

    Returns:
        Exit code and error line of the first process that failed; 0 and an empty text if none did.
    """
    from torch.distributed import TCPStore

    store = TCPStore(LOCALHOST, 0, is_master=True, wait_for_workers=False, timeout=timedelta(minutes=5))
    env = {
        "WORLD_SIZE": str(devices),
        PER_NODE: str(devices),
        "GROUP_RANK": "0",
        "MASTER_ADDR": LOCALHOST,
        "MASTER_PORT": str(store.port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",  # the processes use `store` of this process, which has the port
        **share_of_threads(devices),
    }
    running: list[Child] = []
    try:
        for number in range(devices):
            rank_variables = {"RANK": str(number), "LOCAL_RANK": str(number)}
            command = python_module("lra", "train", *overrides)
            child = Child(command, env={**env, **rank_variables}, echo=False, patience_seconds=PATIENCE_SECONDS)
            running.append(child)
        left = list(running)
        while left:
            child, code = wait_any(left)
            if code:
                return code, child.error()
            left.remove(child)
    finally:
        stop(running)
    return 0, ""
