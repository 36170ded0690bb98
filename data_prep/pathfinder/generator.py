"""Pathfinder images: two long dashed contours among short ones, and two discs on the ends of one contour or of both.

A contour grows paddle by paddle. The next paddle starts a margin away from the last one's end; where it ends is drawn
from the pixels of a circle around that point, with weight cos²(continuity · turn), and none where other paddles'
keep-out is. The two target contours are begun again until both have all their paddles; a distractor that finds no room
is left out. Each image is scaled to 0 … 255. Image k of a seed depends on (seed, k) alone.

Source: the published generator (drewlinsley/pathfinder, `snakes2.py`), described in Linsley et al. 2018. Its loops over
whole images are windows around a paddle here, and its stamps are made once. One thing is fitted to its images and not
taken from its text: they have 1.2 distractors on average, begun in crowded places and not in the open. So each
distractor is tried once here, from a pixel whose paddle would not have room by itself, with one trial per paddle.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from functools import lru_cache, partial

import numpy as np

from data_prep.pathfinder.designs import Design
from data_prep.pathfinder.field import Contour, Field
from data_prep.pathfinder.stamps import Paddle, disc

TRIALS = 3  # of a first paddle and of each further one of a target contour
Tips = tuple[tuple[int, int], tuple[int, int]]  # first and last


def generate(design: Design, seed: int, number: int) -> tuple[np.ndarray, int]:
    """Image `number` of a seed, `[side, side]` uint8, and its label: 1 when both discs are on one contour."""
    rng = random.Random(f"{seed}/{number}")
    label = rng.randrange(2)
    paddle = Paddle(
        length=design.paddle_length,
        thickness=design.paddle_thickness,
        margin=rng.choice(design.margins),
        antialias_scale=design.antialias_scale,
    )
    targets = None
    while targets is None:
        field = Field(design, paddle)
        targets = _two_targets(field, rng)
    for _ in range(design.num_distractors):
        _distractor(field, rng)
    origin = rng.randrange(2)
    image = field.image[field.inside, field.inside]
    for y, x in (targets[origin][0], targets[origin if label else 1 - origin][1]):
        image = np.maximum(image, disc(design.side, y, x, design.marker_radius, design.antialias_scale))
    return (image * (255 / image.max()) + 0.5).astype(np.uint8), label


def _two_targets(field: Field, rng: random.Random) -> list[Tips] | None:
    """Draw the target contours, and give their tips; None when they found no room."""
    design, brightness = field.design, field.design.contour_brightness
    first = _try(lambda: field.begin(rng, brightness, partial(_first_places, design, field.paddle)))
    second = first and _try(lambda: _second(field, rng, first))
    if first is None or second is None:
        return None
    contours = (first, second)
    origins = [contour.tip for contour in contours]
    for _ in range(design.contour_length - 1):
        for contour in contours:
            if not field.extend(rng, contour, brightness, TRIALS):
                return None
    field.settle(second)  # and not the first: so in the published generator
    return [(origin, contour.tip) for origin, contour in zip(origins, contours, strict=True)]


@lru_cache(None)
def _first_places(design: Design, paddle: Paddle, degrees: int) -> np.ndarray:
    """Where the first target contour may begin: in an empty image, always the same."""
    field = Field(design, paddle)
    return np.flatnonzero(field.stamps.room(degrees, field.free(2 * design.seed_distance)))


def _second(field: Field, rng: random.Random, first: Contour) -> Contour | None:
    """Begin the second target contour at its distance from the first."""
    distance, degrees, angle = field.design.seed_distance, rng.randrange(-180, 180), math.radians(rng.randrange(360))
    y, x = round(first.tip[0] + distance * math.sin(angle)), round(first.tip[1] + distance * math.cos(angle))
    return field.first_paddle(y, x, degrees, field.design.contour_brightness)


def _distractor(field: Field, rng: random.Random) -> None:
    """Add a distractor if it finds room."""
    design, brightness = field.design, field.design.distractor_brightness
    before = field.copies()
    free = field.free(1)
    contour = field.begin(rng, brightness, lambda degrees: np.flatnonzero(~field.stamps.room(degrees, free)))
    if contour is not None:
        if all(field.extend(rng, contour, brightness, 1) for _ in range(design.distractor_length - 1)):
            field.settle(contour)
            return
        field.bring_back(before)


def _try(begin: Callable[[], Contour | None]) -> Contour | None:
    """The first contour that could be begun."""
    return next((contour for _ in range(TRIALS) if (contour := begin()) is not None), None)
