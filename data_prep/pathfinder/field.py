"""The ground that a Pathfinder image's contours grow on: where paddles are, and where others may come."""

from __future__ import annotations

import bisect
import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from data_prep.pathfinder.designs import Design
from data_prep.pathfinder.room import room_of
from data_prep.pathfinder.stamps import Paddle, Stamp, moved, stamps_of, turned

OVERLAP = 1.8  # a paddle is refused where its keep-out and the others' add up to this
OCCUPIED = 0.3  # a keep-out above this is no room for a first paddle
TRIALS = 3  # of a first paddle that leaves the image, and of each further paddle that hits another
Places = Callable[[int], np.ndarray]  # from degrees to the flat numbers of the pixels where a first paddle may begin
Window = tuple[slice, slice]


@dataclass
class Contour:
    """A contour that grows.

    Attributes:
        origin: the pixel where it begins.
        degrees: orientation of its first paddle, in whole degrees, 0 to the right, growing downwards.
        pivot: where its last paddle ends, a margin further.
        orientation: of its last paddle, in radians.
        tip: the pixel where its last paddle ends.
        paddles: all so far; the last one does not keep others out yet.
    """

    origin: tuple[int, int]
    degrees: int
    pivot: tuple[int, int]
    orientation: float
    tip: tuple[int, int]
    paddles: list[tuple[Window, Stamp]]


class Field:
    """What contours keep free around them, with a border around the image so that no stamp has to be cut.

    Args:
        design: of the images.
        paddle: with this image's margin.
    """

    def __init__(self, design: Design, paddle: Paddle):
        self.design, self.paddle, self.stamps = design, paddle, stamps_of(paddle)
        self.room, self.border = room_of(paddle, design.side), self.stamps.border
        self.inside = slice(self.border, self.border + design.side)
        keep_out, wide, self.real = _empty(design, paddle.margin, self.border)
        self.keep_out, self.wide = keep_out.copy(), wide.copy()

    def holds(self, y: int, x: int) -> bool:
        """Whether a pixel is in the image."""
        return 0 <= y < self.design.side and 0 <= x < self.design.side

    def begin(self, rng: random.Random, places: Places) -> Contour | None:
        """Begin a contour on one of the `places`.

        None when an orientation is drawn that cannot begin one or has no place, and when the first paddle has left the
        image in all trials.
        """
        for _ in range(TRIALS):
            degrees = rng.randrange(-180, 180)
            chosen = places(degrees) if self.room.can_begin(degrees) else ()
            if not len(chosen):
                return None
            y, x = divmod(int(chosen[rng.randrange(len(chosen))]), self.design.side)
            contour = self.first_paddle(y, x, degrees)
            if contour is not None:
                return contour
        return None

    def first_paddle(self, y: int, x: int, degrees: int) -> Contour | None:
        """A contour's first paddle from a pixel; None when it leaves the image."""
        orientation, length = math.radians(degrees), self.paddle.length
        head = moved(y, x, orientation, length)
        pivot = moved(*head, turned(orientation), length + self.paddle.margin)
        if not self.holds(*head) or not self.holds(*pivot):
            return None
        first = (self.window(y, x), self.stamps.by_degrees(degrees))
        return Contour((y, x), degrees, pivot, orientation, (y, x), [first])

    def window(self, y: int, x: int) -> Window:
        """Where the stamp around a pixel lies."""
        first, side = self.border - self.stamps.reach, 2 * self.stamps.reach + 1
        return slice(y + first, y + first + side), slice(x + first, x + first + side)

    def settle(self, contour: Contour) -> None:
        """Let the contour's last paddle keep others out."""
        window, stamp = contour.paddles[-1]
        view = self.keep_out[window]
        np.maximum(view, stamp.keep_out * self.real[window], out=view)
        view = self.wide[window]
        np.maximum(view, stamp.wide, out=view)

    def extend(self, rng: random.Random, contour: Contour) -> bool:
        """Add a paddle to a contour; False when there is no room."""
        stamps = self.stamps
        y, x = moved(*contour.pivot, contour.orientation, self.paddle.length + 2 * self.paddle.margin)
        free = 1 - self.wide[stamps.ring_y + (y + self.border), stamps.ring_x + (x + self.border)]
        weights = free * stamps.ring_weights(contour.orientation, self.design.continuity)
        sums = list(itertools.accumulate(weights.tolist()))
        if sums[-1] < 1e-4:
            return False
        for _ in range(TRIALS):
            choice = bisect.bisect_right(sums, rng.random() * sums[-1])
            head = (y + int(stamps.ring_y[choice]), x + int(stamps.ring_x[choice]))
            window, stamp = self.window(*head), stamps.ring_stamps[choice]
            if (self.keep_out[window] + stamp.keep_out).max() < OVERLAP:
                break
        else:
            return False
        self.settle(contour)
        contour.pivot, contour.orientation, contour.tip = (y, x), float(stamps.ring_orientation[choice]), head
        contour.paddles.append((window, stamp))
        return True

    def free(self, border: int) -> np.ndarray:
        """Pixels `[side, side]` where a new contour may be, `border` pixels from the edge."""
        free = self.keep_out[self.inside, self.inside] <= OCCUPIED
        free[:border] = free[:, :border] = False
        free[len(free) - border :] = free[:, len(free) - border :] = False
        return free

    def copies(self) -> tuple[np.ndarray, np.ndarray]:
        """What `bring_back` takes."""
        return self.keep_out.copy(), self.wide.copy()

    def bring_back(self, copies: tuple[np.ndarray, np.ndarray]) -> None:
        """Undo what was settled since `copies`."""
        self.keep_out, self.wide = copies

    def drawn(self, contours: list[Contour], brightness: float) -> np.ndarray:
        """An image `[side, side]` of contours; the brightest wins where paddles meet."""
        image = np.zeros(self.keep_out.shape)
        for window, stamp in itertools.chain.from_iterable(contour.paddles for contour in contours):
            view = image[window]
            np.maximum(view, (stamp.line * brightness).astype(np.float32), out=view)
        return image[self.inside, self.inside]


@lru_cache(None)
def _empty(design: Design, margin: int, border: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Keep-out, keep-out one margin thicker (1 outside of the image), and where the image is, of an empty field."""
    side, padding = design.side, design.padding

    def framed(width: int, ring: float) -> np.ndarray:
        """0 in the image, but for a frame of 1 at its edge; `ring` around it."""
        image = np.pad(np.zeros((side - 2 * width, side - 2 * width)), width, constant_values=1)
        return np.pad(image, border, constant_values=ring)

    return framed(padding, 0), framed(padding + margin, 1), 1 - framed(0, 1)
