"""Measure cells one after another in bounded time: each in a process that is forked from one which has imported torch.

So the seconds of importing are spent once, the memory of a cell is its own, and a cell that takes too long or runs out
of memory ends alone.
"""

import json
import os
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import partial
from importlib import import_module
from pathlib import Path

import torch

from lra.base.processes import Child, die_with_parent, python_module
from lra.settings.run_config import RunConfig
from lra.tables.grid.estimate import SECONDS, Estimate, measure_here
from lra.types import UserError

PLAN_SECONDS = 45.0  # for all cells of a plan together
LEAST_SECONDS = 0.5  # for the steps of one, also where the cells are many
OVERRUN = 3.0  # a cell is ended after this many times its seconds, and those that it has to get ready
READY_SECONDS = 4.0
START_SECONDS = 120.0  # that the imports may take
# A process that has asked CUDA for devices cannot be forked: its children could not use them. NVML is another driver.
FORK_SAFE = {"PYTORCH_NVML_BASED_CUDA_CHECK": "1"}
MODULES = (  # what `measure_here` imports, with all that these import
    "lra.from_config.step_flops", "lra.training.cost.counting", "lra.training.cost.harness_step",
    "lra.training.optimizer", "lra.training.schedule_check", "lra.packed.encoder_forms",
)  # fmt: skip
NO_TIME = "no time was left; the same command measures it"


def measure_each(cfgs: Sequence[RunConfig], *, seconds: float = PLAN_SECONDS) -> Iterator[Estimate | UserError]:
    """Measure runs with some configurations on this machine, in their order, in about `seconds` or at most twice that.

    Yields:
        The estimate of each as soon as it is measured, or why it could not be.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "configurations.json"
        path.write_text(json.dumps([cfg.as_text() for cfg in cfgs]), encoding="utf-8")
        command = python_module("lra.tables.grid.measurer", str(path), str(seconds))
        with Child(command, env=FORK_SAFE, echo=False, keep_output=True, patience_seconds=0) as child:
            for index in range(len(cfgs)):
                if not _has_line(child, index, START_SECONDS if index == 0 else 2 * seconds):
                    yield UserError("measuring does not answer" if child.code is None else child.error())
                    continue
                found = json.loads(child.output[index])
                yield UserError(found["error"]) if "error" in found else Estimate(**found)


def _has_line(child: Child, index: int, seconds: float) -> bool:
    """Wait until a child has printed a line, or has ended; tell whether the line is there."""
    end = time.monotonic() + seconds
    while len(child.output) <= index and time.monotonic() < end:
        if child.wait(0) is not None:  # which waits a little
            break
    return len(child.output) > index


def seconds_for_one(left: float, count: int) -> float:
    """The share of the time left that one of `count` cells has for its steps."""
    return min(max(left / count, LEAST_SECONDS), SECONDS)


def measure_all_here(
    cfgs: Sequence[RunConfig],
    seconds: float,
    measure: Callable[[RunConfig, float], dict[str, object]],
    clock: Callable[[], float] = time.monotonic,
) -> Iterator[dict[str, object]]:
    """Measure each in a fork of this process; after twice the `seconds` no other one is begun."""
    begun = clock()
    for index, cfg in enumerate(cfgs):
        spent = clock() - begun
        if spent > 2 * seconds:
            yield {"error": NO_TIME}
            continue
        yield measure(cfg, seconds_for_one(seconds - spent, len(cfgs) - index))


def measure_in_fork(cfg: RunConfig, seconds: float, *, threads: int) -> dict[str, object]:
    """Measure in a fork of this process, whose memory is as it was before any other cell; say why if it fails."""
    from lra.terminal.errors import explain

    most = READY_SECONDS + OVERRUN * seconds
    reader, writer = os.pipe()
    parent = os.getpid()
    child = os.fork()
    if not child:
        die_with_parent(parent)
        torch.set_num_threads(threads)
        signal.signal(signal.SIGALRM, signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, most)  # ends the process, whatever it computes
        try:
            found: dict[str, object] = asdict(measure_here(cfg, seconds=seconds))
        except Exception as error:
            found = {"error": explain(error).removeprefix("lra: ")}
        with os.fdopen(writer, "w") as pipe:
            json.dump(found, pipe)
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    if text:
        read: dict[str, object] = json.loads(text)
        return read
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGALRM:
        return {"error": f"a step of one example takes more than {most:.0f} s"}
    return {"error": f"its process ended with {signal.Signals(os.WTERMSIG(status)).name}: out of memory?"}


def _import_what_measuring_needs() -> None:
    """Import for seconds what every fork would import again: modules, and what the first step of an optimizer does."""
    for name in MODULES:
        import_module(name)
    weight = torch.nn.Parameter(torch.zeros(1))
    weight.grad = torch.zeros(1)  # not by a backward pass, whose threads for each GPU no fork would have
    torch.optim.AdamW([weight]).step()


if __name__ == "__main__":  # the child of `measure_each`
    of_cells, of_all = sys.argv[1:]
    all_threads = torch.get_num_threads()
    torch.set_num_threads(1)  # a fork of a process whose threads have worked would wait for them
    _import_what_measuring_needs()
    measure_one = partial(measure_in_fork, threads=all_threads)
    to_measure = [RunConfig.from_text(text) for text in json.loads(Path(of_cells).read_text("utf-8"))]
    for made in measure_all_here(to_measure, float(of_all), measure_one):
        print(json.dumps(made), flush=True)
