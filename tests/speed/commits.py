"""Bare training steps of two commits in turns, a process for each, and how much slower the second is."""

import os
import statistics
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

SERVER = Path(__file__).with_name("step_server.py")
NOISE = 0.01


@dataclass(frozen=True)
class Ratio:
    """Seconds of a step after, divided by those before: median and quartiles over the turns."""

    lower: float
    median: float
    upper: float

    @property
    def is_slower(self) -> bool:
        """Whether three of four turns took longer after, by more than equal commits differ."""
        return self.lower > 1 + NOISE

    def __str__(self) -> str:
        """`1.032 [1.011, 1.050]`."""
        return f"{self.median:.3f} [{self.lower:.3f}, {self.upper:.3f}]"


def ratio_of(before: Sequence[float], after: Sequence[float]) -> Ratio:
    """The ratio within each turn, so that a machine that is slow for a while is so on both sides."""
    ratios = [second / first for first, second in zip(before, after, strict=True)]
    return Ratio(*statistics.quantiles(ratios, n=4, method="inclusive"))


def steps_in_turns(trees: Sequence[Path], words: Sequence[str], turns: int) -> list[list[float]]:
    """Seconds of a step of `lra train WORDS` from each checked-out tree, in each turn; a first turn is not counted."""
    seconds: list[list[float]] = [[] for _ in trees]
    with ExitStack() as stack:
        servers = [stack.enter_context(_server(tree, words)) for tree in trees]
        for turn in range(turns + 1):
            for own, server in zip(seconds, servers, strict=True):
                taken = _step(server)
                if turn:
                    own.append(taken)
    return seconds


def _server(tree: Path, words: Sequence[str]) -> subprocess.Popen[str]:
    env = {**os.environ, "PYTHONPATH": str(tree)}
    command = [sys.executable, str(SERVER), *words]
    return subprocess.Popen(command, cwd=tree, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _step(server: subprocess.Popen[str]) -> float:
    assert server.stdin is not None
    assert server.stdout is not None
    server.stdin.write("\n")
    server.stdin.flush()
    answer = server.stdout.readline()
    if not answer:
        sys.exit(f"{' '.join(map(str, server.args[1:]))} ended early")  # what it said stands above
    return float(answer)
