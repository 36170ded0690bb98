"""Generate many images in several processes; the number of processes does not change the images."""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait

import numpy as np

from data_prep.pathfinder.designs import Design
from data_prep.pathfinder.generator import generate

CHUNK = 64
ALONE = 1000  # fewer images than this are generated in this process


def generate_many(
    design: Design, seed: int, numbers: Sequence[int], workers: int | None = None
) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the images of a seed with given numbers, and their labels, in the order of `numbers`.

    Args:
        design: the generator's arguments.
        seed: seed of all images.
        numbers: numbers of the images.
        workers: number of processes; None: one per core.
    """
    workers = workers or len(os.sched_getaffinity(0))
    chunks = (numbers[start : start + CHUNK] for start in range(0, len(numbers), CHUNK))
    if workers == 1 or len(numbers) < ALONE:
        for chunk in chunks:
            yield from _chunk(design, seed, chunk)
        return
    with ProcessPoolExecutor(workers, get_context("spawn"), _follow_the_parent) as pool:

        def submit(count: int) -> list[Future[list[tuple[np.ndarray, int]]]]:
            with _main_hidden():
                return [pool.submit(_chunk, design, seed, chunk) for chunk in islice(chunks, count)]

        waiting = submit(4 * workers)
        try:
            while waiting:
                yield from waiting.pop(0).result()
                waiting += submit(1)
        except BaseException:  # do not wait for the chunks that are being computed
            for worker in active_children():
                worker.terminate()
            raise


@contextmanager
def _main_hidden() -> Iterator[None]:
    """Let workers that are started here not import the caller's script, which may prepare data at its top level."""
    main = vars(sys.modules["__main__"])
    names: dict[str, object] = {name: main.pop(name) for name in ("__spec__", "__file__") if name in main}
    main["__spec__"] = None
    try:
        yield
    finally:
        main.update(names)


def _chunk(design: Design, seed: int, numbers: Sequence[int]) -> list[tuple[np.ndarray, int]]:
    return [generate(design, seed, int(number)) for number in numbers]


def _follow_the_parent() -> None:
    """Ignore Ctrl-C, which the parent handles, and end when the parent ends, also when it is killed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = parent_process()
    assert parent is not None
    threading.Thread(target=lambda: (wait([parent.sentinel]), os._exit(1)), daemon=True).start()
