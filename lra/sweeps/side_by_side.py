"""Measure how many steps per second several processes train that share one device, each with a cell of its own."""

from __future__ import annotations

import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from omegaconf import DictConfig

from lra.base.processes import Child, python_module, stop
from lra.types import UserError

BESIDE = "beside="  # word of a child: the folder in which the processes wait for each other
GO = "go"  # file that lets all of them begin
WARM_UP = 3  # steps: the first allocate memory and load kernels, or compile
STEPPING_SECONDS = 3.0  # that they step for
START_SECONDS = 180.0  # that they have to get ready
READY_POLL_SECONDS = 0.02
STEPS_AHEAD = 8  # steps that Python may be ahead of a GPU


def steps_per_second(words: Sequence[str], processes: int) -> float:
    """Train a cell in some processes at the same time, and sum their steps per second.

    Args:
        words: overrides for `lra train`, of the cell.
        processes: their number; on a CPU they share its cores evenly.

    Raises:
        UserError: when one fails, with its error line, or does not get ready in time.
    """
    if "trainer=gpu" not in words:
        words = [*words, f"trainer.threads={max(1, (os.cpu_count() or 1) // processes)}"]
    with tempfile.TemporaryDirectory() as name:
        folder, children = Path(name), list[Child]()
        command = python_module("lra.sweeps.estimate_child", f"{BESIDE}{folder}", *words)
        try:
            for _ in range(processes):
                children.append(Child(command, echo=False, keep_output=True, patience_seconds=0))
            _wait_until_ready(children, folder)
            (folder / GO).touch()
            for child in children:
                if child.wait(START_SECONDS):
                    raise UserError(child.error())
        finally:
            stop(children)
        return float(sum(json.loads(child.output[-1]) for child in children))


def _wait_until_ready(children: Sequence[Child], folder: Path) -> None:
    end = time.monotonic() + START_SECONDS
    while len(list(folder.iterdir())) < len(children):
        for child in children:
            if child.wait(READY_POLL_SECONDS) is not None:
                raise UserError(child.error())
        if time.monotonic() > end:
            raise UserError(f"{len(children)} processes were not ready after {START_SECONDS:.0f} s")


def step_beside_others(cfg: DictConfig, folder: Path) -> float:
    """Be one of the processes: get ready, wait for the others, train; return the steps per second."""
    import itertools
    from collections import deque

    import torch

    from lra import build
    from lra.build import trainer as build_trainer
    from lra.settings import config
    from lra.sweeps.estimate import batches_to_measure
    from lra.timing.counting import synchronized_seconds
    from lra.timing.harness_step import make_step
    from lra.training.machine import prepare_machine

    machine = build_trainer.build_machine(cfg)
    prepare_machine(machine)
    device, parts = machine.device, config.batch_parts(cfg)
    batches = list(itertools.islice(batches_to_measure(cfg, device), parts))
    step = make_step(build.build_module(cfg).to(device).train(), batches, parts=parts, precision=machine.precision)
    for _ in range(WARM_UP):
        step()
    synchronized_seconds(device)
    (folder / str(os.getpid())).touch()
    while not (folder / GO).exists():
        time.sleep(READY_POLL_SECONDS)
    began, steps, launched = time.perf_counter(), 0, deque[torch.cuda.Event]()
    while time.perf_counter() - began < STEPPING_SECONDS:
        step()
        steps += 1
        if device.type == "cuda":  # launch some steps ahead, as training does, but not a queue of seconds
            launched.append(torch.cuda.Event())
            launched[-1].record()
            if len(launched) > STEPS_AHEAD:
                launched.popleft().synchronize()
    return steps / (synchronized_seconds(device) - began)
