"""Start several processes that train one model together, and end them together."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import timedelta

from torch.distributed import TCPStore

from lra.base.processes import Child, python_module, stop, wait_any

HERE = "127.0.0.1"
PATIENCE_SECONDS = 3.0  # short: a process in a collective call handles no signal, and a killed run resumes exactly


def run_together(devices: int, words: Sequence[str]) -> tuple[int, str]:
    """Run `lra train WORDS` in `devices` processes; when one fails, end the others.

    Returns:
        Exit code and error line of the first process that failed; 0 and an empty text if none did.
    """
    store = TCPStore(HERE, 0, is_master=True, wait_for_workers=False, timeout=timedelta(minutes=5))
    threads = os.environ.get("OMP_NUM_THREADS") or str(max((os.cpu_count() or devices) // devices, 1))
    env = {
        "WORLD_SIZE": str(devices),
        "MASTER_ADDR": HERE,
        "MASTER_PORT": str(store.port),
        "TORCHELASTIC_USE_AGENT_STORE": "True",  # the processes use `store` of this process, which has the port
        "OMP_NUM_THREADS": threads,
    }
    running: list[Child] = []
    try:
        for number in range(devices):
            place = {"RANK": str(number), "LOCAL_RANK": str(number)}
            running.append(
                Child(
                    python_module("lra", "train", *words),
                    env={**env, **place},
                    echo=False,
                    patience_seconds=PATIENCE_SECONDS,
                )
            )
        left = list(running)
        while left:
            child, code = wait_any(left)
            if code:
                return code, child.error()
            left.remove(child)
    finally:
        stop(running)
    return 0, ""
