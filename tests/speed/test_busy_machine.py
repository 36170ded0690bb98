"""Seconds of a step beside busy processes, for several ways in which OpenMP's threads can wait, in turns."""

import os
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lra.base.openmp import SPIN_COUNT, SPINS, USERS_CHOICES
from tests.conftest import ROOT

pytestmark = [pytest.mark.slow, pytest.mark.exhaustive]
OURS, DEFAULT = f"{SPIN_COUNT}={SPINS}", f"{SPIN_COUNT}=300000"  # libgomp's own default
WAYS = (DEFAULT, *(f"{SPIN_COUNT}={count}" for count in (1000, 5000, 20_000, 100_000, 1_000_000)), OURS)
WAYS += ("OMP_WAIT_POLICY=PASSIVE", "OMP_NUM_THREADS=1")
LOADS = (0, 1, 2, 4)
ROUNDS, STEPS = 5, 2
SERVER = Path(__file__).with_name("step_server.py")


class Steps:
    """A process that trains Nyström attention on short ListOps, a step at a time, and sleeps in between."""

    def __init__(self, way: str):
        kept = {name: value for name, value in os.environ.items() if name not in USERS_CHOICES}
        name, value = way.split("=")
        self._process = subprocess.Popen(
            [sys.executable, str(SERVER), "task=listops", "size=short", "attention=nystrom"],
            env={**kept, "PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "2", name: value},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def step(self) -> float:
        """Take a step; return its seconds."""
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def stop(self) -> None:
        """End the process."""
        self._process.communicate()


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep so many cores busy."""
    running = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    time.sleep(0.5)
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


@pytest.fixture
def steps():
    started = {way: Steps(way) for way in WAYS}
    for way in WAYS:
        started[way].step()
        started[way].step()
    yield started
    for each in started.values():
        each.stop()


def test_a_step_costs_little_more_at_rest_and_a_few_times_as_much_on_a_busy_machine(steps, note):
    rounds: dict[tuple[str, int], list[float]] = {}
    for load in LOADS:
        with busy_processes(load):
            for _ in range(ROUNDS):
                for way in WAYS:
                    seconds = statistics.median(steps[way].step() for _ in range(STEPS))
                    rounds.setdefault((way, load), []).append(seconds)
    for way in WAYS:
        at_rest = zip(rounds[way, 0], rounds[DEFAULT, 0], strict=True)
        of_default = statistics.median(own / default for own, default in at_rest)
        beside = {f"beside_{load}": statistics.median(rounds[way, load]) for load in LOADS}
        note(f"step of short listops, {way}", ratio=of_default, **beside)
        if way == OURS:
            assert of_default <= 1.1
            assert beside["beside_2"] <= 4 * beside["beside_0"]
