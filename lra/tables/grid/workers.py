"""Run the cells of a sweep in several worker processes: `workers=N`, on this machine or with a Hydra launcher."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.text import Text

from lra.base.devices import VISIBLE, no_device_error, visible_devices
from lra.base.openmp import share_of_threads
from lra.base.overrides import Overrides
from lra.base.processes import Child, die_with_pool_owner, python_module, stop, wait_any
from lra.base.signals import clean_up_on_signals, exit_on_signals, raise_if_stopped
from lra.settings.command_options import Worker
from lra.tables.grid.gpu_places import LAUNCHER
from lra.types import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from lra.settings.run_config import Config


def start_workers(
    sweep: str,
    overrides: Sequence[str],
    workers: int,
    launcher: Overrides,
    console: Console,
    *,
    visible_gpus: Sequence[str],
) -> None:
    """Start workers and wait for them; locks keep two workers from running the same cell.

    Without overrides of the Hydra launcher, the workers are children of this process, and share its cores.
    `visible_gpus` has CUDA_VISIBLE_DEVICES of each worker; if it is empty, they have that of this process.

    Raises:
        UserError: when every worker has failed.
    """
    if launcher:
        _launch(sweep, overrides, workers, launcher, visible_gpus)
        return
    running: list[Child] = []
    try:
        for number in range(workers):
            env = share_of_threads(workers) | ({VISIBLE: visible_gpus[number]} if visible_gpus else {})
            words = python_module("lra.tables.grid.workers", sweep, *overrides)
            running.append(Child(words, env=env, hear_output=lambda line: console.print(Text(line))))
        _wait(running, console)
    finally:
        stop(running)


def _wait(workers: Sequence[Child], console: Console) -> None:
    left, errors = list(workers), []
    while left:
        worker, code = wait_any(left)
        left.remove(worker)
        if code:
            errors.append(worker.error())
            console.print("a worker ended; the others go on" if left else "a worker ended", style="red")
    if len(errors) == len(workers):
        raise UserError(f"every worker ended early: {errors[-1]}")


def _launch(
    sweep: str, overrides: Sequence[str], workers: int, launcher: Overrides, visible_gpus: Sequence[str]
) -> None:
    from lra.base.printed_commands import quoted_for_hydra
    from lra.settings.application import run_command

    if launcher.get(LAUNCHER) is None:
        launcher = Overrides([f"{LAUNCHER}=joblib", f"hydra.launcher.n_jobs={workers}", *launcher])
    lists = [
        f"{key}=[{','.join(map(quoted_for_hydra, texts))}]"
        for key, texts in (("overrides", overrides), ("places", visible_gpus))
    ]
    run_command("worker", ["-m"], [f"of={sweep}", f"worker=range({workers})", *lists, *launcher], work)


def work(config: Config) -> None:
    """Be one worker: a job of the launcher, on this machine or another machine with the same folder of runs."""
    cfg = Worker.view(config)
    die_with_pool_owner()
    if cfg.places:
        os.environ[VISIBLE] = cfg.places[cfg.worker]  # for the processes that train
    run_cells(cfg.of, Overrides(cfg.overrides))


def run_cells(sweep: str, overrides: Overrides) -> None:
    """Run the missing cells of a sweep, as one of several workers.

    Raises:
        UserError: when no GPU is visible to cells that need one: each of them would fail, and no other worker try it.
    """
    from lra.tables.grid.equal_steps import cells_of
    from lra.tables.grid.gpu_places import devices_of_a_run
    from lra.tables.grid.runner import run_missing
    from lra.terminal.console import make_console

    os.environ["TTY_COMPATIBLE"] = "0"  # no progress bars: those of several workers would overwrite each other
    cells = cells_of(sweep, overrides)
    if devices_of_a_run(cells):
        import torch  # slow

        if not visible_devices() or not torch.cuda.is_available():
            raise no_device_error()
    run_missing(cells, make_console(), is_alone=False)


@exit_on_signals(lambda _: None)
def main(argv: Sequence[str]) -> int:
    """Be one worker, in a process of its own: `python -m lra.tables.grid.workers SWEEP OVERRIDES`."""
    from lra.terminal.errors import explain

    sweep, *overrides = argv
    try:
        with clean_up_on_signals():
            run_cells(sweep, Overrides(overrides))
    except Exception as error:
        raise_if_stopped()
        print(f"lra: {explain(error)}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
