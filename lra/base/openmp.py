"""How OpenMP's threads, which compute torch's operators on a CPU, wait for each other.

Threads of libgomp, the OpenMP of torch's builds for Linux, spin while they wait, by default for milliseconds. Beside
another busy process they so take the core from the very thread that they wait for, and a step takes many times as
long. libgomp reads its variables once, when torch loads it.
"""

import os
import sys
import warnings

SPIN_COUNT = "GOMP_SPINCOUNT"
USERS_CHOICES = ("OMP_WAIT_POLICY", SPIN_COUNT, "KMP_BLOCKTIME")  # any of them is the user's own choice
THREADS = "OMP_NUM_THREADS"
SHARE = "LRA_SHARE_OF_THREADS"  # its value where `share_of_threads` gave it, and not the user
SPINS = 2000  # rounds of waiting before a thread sleeps; docs/performance.md has the measurements behind it


def cores() -> int:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def share_of_threads(processes: int) -> dict[str, str]:
    """The environment of each of several processes: they share the cores, unless the user chose a number of threads.

    Processes that one of them starts share its share.
    """
    typed, given = os.environ.get(THREADS), os.environ.get(SHARE)
    if typed and typed != given:
        return {THREADS: typed}
    share = str(max((int(given) if given else cores()) // processes, 1))
    return {THREADS: share, SHARE: share}


def limit_spinning() -> None:
    """Let OpenMP's threads of this process and its children sleep soon when they wait, unless the user chose otherwise.

    It warns where it comes too late, because torch is loaded and computes on several threads.
    """
    if any(name in os.environ for name in USERS_CHOICES):
        return
    torch = sys.modules.get("torch")
    if torch is None:
        os.environ[SPIN_COUNT] = str(SPINS)
    elif torch.get_num_threads() > 1:
        warnings.warn(
            "torch was imported before lra, so its threads spin while they wait: beside other busy processes a step"
            f" may take many times as long. Import lra first, or set {SPIN_COUNT}={SPINS} before Python starts.",
            stacklevel=3,
        )
