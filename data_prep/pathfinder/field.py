"""A Pathfinder image in the making: where paddles are, and where others may come."""

from __future__ import annotations

import bisect
import itertools
import math
import random
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from data_prep.pathfinder.designs import Design
from data_prep.pathfinder.stamps import Paddle, moved, stamps_of, turned

OVERLAP = 1.8  # a paddle is refused where its keep-out and the others' add up to this
OCCUPIED = 0.3  # a keep-out above this is no room for a first paddle
Places = Callable[[int], np.ndarray]  # from degrees to the flat numbers of the pixels where a first paddle may begin


@dataclass
class Contour:
    """A contour that grows.

    Attributes:
        pivot: where its last paddle ends, a margin further.
        orientation: of its last paddle, in radians.
        newest: keep-out of its last paddle, not yet in the field's: window and stamps.
        tip: the pixel where its last paddle ends.
    """

    pivot: tuple[int, int]
    orientation: float
    newest: tuple[slice, slice, np.ndarray, np.ndarray]
    tip: tuple[int, int]


class Field:
    """An image in the making, with a border around it so that no stamp has to be cut.

    Args:
        design: of the images.
        paddle: with this image's margin.
    """

    def __init__(self, design: Design, paddle: Paddle):
        self.design, self.paddle, self.stamps = design, paddle, stamps_of(paddle)
        self.border, side = self.stamps.border, design.side
        whole = side + 2 * self.border
        self.image = np.zeros((whole, whole))
        self.keep_out = np.zeros((whole, whole))
        self.wide = np.ones((whole, whole))  # keep-out, one margin thicker; 1 outside of the image
        self.inside = slice(self.border, self.border + side)
        self.keep_out[self.inside, self.inside] = 1
        free = slice(self.border + design.padding, self.border + side - design.padding)
        self.keep_out[free, free] = 0
        wide = slice(free.start + paddle.margin, free.stop - paddle.margin)
        self.wide[wide, wide] = 0
        self.real = np.zeros((whole, whole))
        self.real[self.inside, self.inside] = 1

    def holds(self, y: int, x: int) -> bool:
        """Whether a pixel is in the image."""
        return 0 <= y < self.design.side and 0 <= x < self.design.side

    def begin(self, rng: random.Random, brightness: float, places: Places) -> Contour | None:
        """Begin a contour on one of the `places`; None when there is none, or the first paddle leaves the image."""
        degrees = rng.randrange(-180, 180)
        chosen = places(degrees)
        if not len(chosen):
            return None
        y, x = divmod(int(chosen[rng.randrange(len(chosen))]), self.design.side)
        return self.first_paddle(y, x, degrees, brightness)

    def first_paddle(self, y: int, x: int, degrees: int, brightness: float) -> Contour | None:
        """Draw a contour's first paddle from a pixel; None when it leaves the image."""
        orientation, length = math.radians(degrees), self.paddle.length
        head = moved(y, x, orientation, length)
        pivot = moved(*head, turned(orientation), length + self.paddle.margin)
        if not self.holds(*head) or not self.holds(*pivot):
            return None
        window = self.window(y, x)
        line, keep_out, wide = self.stamps.by_degrees(degrees)
        self.draw(window, line, brightness)
        return Contour(pivot, orientation, (*window, keep_out, wide), (y, x))

    def window(self, y: int, x: int) -> tuple[slice, slice]:
        """Where the stamp around a pixel lies."""
        first, side = self.border - self.stamps.reach, 2 * self.stamps.reach + 1
        return slice(y + first, y + first + side), slice(x + first, x + first + side)

    def draw(self, window: tuple[slice, slice], line: np.ndarray, brightness: float) -> None:
        """Draw a paddle where it is brighter than what is there."""
        view = self.image[window]
        np.maximum(view, (line * brightness).astype(np.float32), out=view)

    def settle(self, contour: Contour) -> None:
        """Let the contour's last paddle keep others out."""
        rows, columns, keep_out, wide = contour.newest
        view = self.keep_out[rows, columns]
        np.maximum(view, keep_out * self.real[rows, columns], out=view)
        view = self.wide[rows, columns]
        np.maximum(view, wide, out=view)

    def extend(self, rng: random.Random, contour: Contour, brightness: float, trials: int) -> bool:
        """Add a paddle to a contour, trying that often; False when there is no room."""
        stamps = self.stamps
        y, x = moved(*contour.pivot, contour.orientation, self.paddle.length + 2 * self.paddle.margin)
        free = 1 - self.wide[stamps.ring_y + (y + self.border), stamps.ring_x + (x + self.border)]
        weights = free * stamps.ring_weights(contour.orientation, self.design.continuity)
        sums = list(itertools.accumulate(weights.tolist()))
        if sums[-1] < 1e-4:
            return False
        for _ in range(trials):
            choice = bisect.bisect_right(sums, rng.random() * sums[-1])
            head = (y + int(stamps.ring_y[choice]), x + int(stamps.ring_x[choice]))
            window = self.window(*head)
            line, keep_out, wide = stamps.ring_stamps[choice]
            if (self.keep_out[window] + keep_out).max() < OVERLAP:
                break
        else:
            return False
        self.draw(window, line, brightness)
        self.settle(contour)
        contour.pivot, contour.orientation = (y, x), float(stamps.ring_orientation[choice])
        contour.newest, contour.tip = (*window, keep_out, wide), head
        return True

    def free(self, border: int) -> np.ndarray:
        """Pixels `[side, side]` where a new contour may be, `border` pixels from the edge."""
        free = self.keep_out[self.inside, self.inside] <= OCCUPIED
        free[:border] = free[:, :border] = False
        free[len(free) - border :] = free[:, len(free) - border :] = False
        return free

    def copies(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What `bring_back` takes."""
        return self.image.copy(), self.keep_out.copy(), self.wide.copy()

    def bring_back(self, copies: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
        """Undo what was drawn since `copies`."""
        self.image, self.keep_out, self.wide = copies
