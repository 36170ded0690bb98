"""Draw Pathfinder images: two long dashed contours among short ones, and two discs at ends of one contour or of both.

A contour consists of paddles (dashes) and grows paddle by paddle. It begins where its first paddle has room, if its
orientation can begin a contour at all (see `field`). The next paddle starts one margin beyond the end of the last one.
Its end is drawn from the pixels of a circle around that point, with weight cos²(continuity · turn), and 0 at the
keep-out of other paddles. The two target contours are begun again until both have all their paddles. A distractor that
is not complete after `TRIES` attempts is left out. Each image is scaled to 0 … 255. Image k depends on the seed and k
alone, not on the number of processes.

Source: the published generator (drewlinsley/pathfinder, `snakes2.py`), described in Linsley et al. 2018. Here, loops
over whole images are limited to windows around a paddle, stamps are made once, and orientations are tested before
anything is drawn.
"""

import math
import os
import random
import signal
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from functools import lru_cache, partial
from itertools import islice
from multiprocessing import active_children, get_context, parent_process
from multiprocessing.connection import wait

import numpy as np

from data_prep.pathfinder.designs import Design
from data_prep.pathfinder.field import TRIALS, Contour, Field
from data_prep.pathfinder.stamps import Paddle, disc

TRIES = 5  # attempts at a distractor
CHUNK = 64
ALONE = 1000  # fewer images than this are generated in this process


def generate(design: Design, seed: int, number: int) -> tuple[np.ndarray, int]:
    """Draw image `number` of a seed, `[side, side]` uint8, and its label: 1 if both discs are on the same contour."""
    rng = random.Random(f"{seed}/{number}")
    label, origin = rng.randrange(2), rng.randrange(2)
    field, targets, distractors = grow(design, rng)
    image = np.maximum(
        field.drawn(targets, design.contour_brightness), field.drawn(distractors, design.distractor_brightness)
    )
    for y, x in (targets[origin].origin, targets[origin if label else 1 - origin].tip):
        image = np.maximum(image, disc(design.side, y, x, design.marker_radius))
    return (image * (255 / image.max()) + 0.5).astype(np.uint8), label


def grow(design: Design, rng: random.Random) -> tuple[Field, list[Contour], list[Contour]]:
    """Grow the contours of an image; return the field, the two targets, and the distractors that found room."""
    margin = rng.choice(design.margins)
    paddle = Paddle(length=design.paddle_length, thickness=design.paddle_thickness, margin=margin)
    targets = None
    while targets is None:
        field = Field(design, paddle)
        targets = _two_targets(field, rng)
    distractors = [_distractor(field, rng) for _ in range(design.num_distractors)]
    return field, targets, [contour for contour in distractors if contour is not None]


def _two_targets(field: Field, rng: random.Random) -> list[Contour] | None:
    """Grow the two target contours; None if they find no room."""
    first = None
    while first is None:
        first = field.begin(rng, partial(_first_starts, field.design, field.paddle))
    second = _second(field, rng, first)
    if second is None:
        return None
    for _ in range(field.design.contour_length - 1):
        for contour in (first, second):
            if not field.extend(rng, contour):
                return None
    field.settle(second)  # but not the first, as in the published generator
    return [first, second]


@lru_cache(None)
def _first_starts(design: Design, paddle: Paddle, degrees: int) -> np.ndarray:
    """Compute where the first target contour may begin; the image is empty then, so the result is cached."""
    field = Field(design, paddle)
    return field.free_area.starts(degrees, field.free(2 * design.seed_distance))


def _second(field: Field, rng: random.Random, first: Contour) -> Contour | None:
    """Begin the second target contour `seed_distance` from the first, in any orientation, also on occupied pixels."""
    distance = field.design.seed_distance
    for _ in range(TRIALS):
        degrees, angle = rng.randrange(-180, 180), math.radians(rng.randrange(360))
        y = round(first.origin[0] + distance * math.sin(angle))
        x = round(first.origin[1] + distance * math.cos(angle))
        contour = field.first_paddle(y, x, degrees)
        if contour is not None:
            return contour
    return None


def _distractor(field: Field, rng: random.Random) -> Contour | None:
    """Add a distractor; None if it finds no room in `TRIES` attempts."""
    free = field.free(1)
    for _ in range(TRIES):
        contour = field.begin(rng, lambda degrees: field.free_area.starts(degrees, free))
        if contour is None:
            continue
        before = field.snapshot()
        if all(field.extend(rng, contour) for _ in range(field.design.distractor_length - 1)):
            field.settle(contour)
            return contour
        field.restore(before)
    return None


def generate_many(
    design: Design, seed: int, numbers: Sequence[int], workers: int | None = None
) -> Iterator[tuple[np.ndarray, int]]:
    """Yield the images of a seed with given numbers, and their labels, in the order of `numbers`.

    `workers` is the number of processes; None: one per core.
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
