"""The field of a Pathfinder image: it grows contours, knows where paddles are, and where a contour may begin.

Where the first paddle of a contour may begin has the edge effect of the published generator. It dilates the keep-out of
the image with a kernel of the paddle's shape; pixels that stay free have room. Its dilation (OpenCV's, on float64) uses
-1.8e308 beyond the border. So a pixel for which the whole kernel is outside the image becomes this number. The search
treats a negative number as an error, and the attempt to begin a contour fails at once. This does not depend on what is
drawn: an orientation can begin a contour only if, for every pixel of the image, at least one pixel of the kernel is
inside.

At 32 × 32 these are 30 of 360 whole degrees, -150 to -121: the first target contour and all distractors start up and
to the left, and most distractors are never drawn. At 128 × 128 they are all degrees but -59 to -54 with a margin of 2,
and all with a margin of 3. Source: drewlinsley/pathfinder, `snakes.py`.
"""

import bisect
import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from data_prep.pathfinder.designs import Design
from data_prep.pathfinder.stamps import Paddle, Stamp, moved, opposite, stamps_of

OVERLAP = 1.8  # a paddle is refused if its keep-out plus that of others reaches this value at any pixel
PADDING = 1  # pixels at the edge that stay free, in the benchmark and here
OCCUPIED = 0.3  # a pixel with a keep-out above this value is not free for a first paddle
TRIALS = 3  # trials for a first paddle that leaves the image, and for each further paddle that hits another one
Starts = Callable[[int], np.ndarray]  # from degrees to the flat indices of pixels where a first paddle may begin
Window = tuple[slice, slice]


class FreeArea:
    """Searches room for one paddle, which has the image's margin, in images of `side` × `side` pixels."""

    def __init__(self, paddle: Paddle, side: int):
        self._paddle, self._side, self._limit = paddle, side, paddle.length + paddle.margin
        self.kernel = lru_cache(None)(self._kernel)
        self.can_begin = lru_cache(None)(self._can_begin)

    def _kernel(self, degrees: int) -> list[tuple[int, int]]:
        """Compute rows and columns of the kernel's pixels, relative to its anchor.

        The kernel is the paddle's keep-out, shifted by one pixel to the lower right, in a square that reaches
        `length + margin` around the anchor. It is cast to bytes, so of its values in [0, 1] only those of 1 stay.
        """
        _, keep_out = self._paddle.stamp(math.radians(degrees))
        full = np.argwhere(keep_out.astype(np.uint8)) - self._paddle.reach + 1
        return [(y, x) for y, x in full.tolist() if abs(y) <= self._limit and abs(x) <= self._limit]

    def _can_begin(self, degrees: int) -> bool:
        """Tell whether, for every pixel as anchor, at least one pixel of the kernel is in the image."""
        inside = np.ones((self._side, self._side), bool)
        return bool(np.logical_or.reduce([*self._seen(degrees, inside, beyond=False)]).all())

    def starts(self, degrees: int, free: np.ndarray) -> np.ndarray:
        """Find the flat indices of pixels for which the whole kernel is `free` `[side, side]` or beyond the border."""
        return np.flatnonzero(np.logical_and.reduce([*self._seen(degrees, free, beyond=True)]))

    def _seen(self, degrees: int, image: np.ndarray, beyond: bool) -> Iterator[np.ndarray]:
        """Yield, for each pixel of the kernel, the image's value there, `[side, side]` by the anchor's place."""
        limit, side = self._limit, self._side
        padded = np.pad(image, limit, constant_values=beyond)
        for y, x in self.kernel(degrees):
            yield padded[limit + y : limit + y + side, limit + x : limit + x + side]


free_area_of = lru_cache(None)(FreeArea)


@dataclass
class Contour:
    """A growing contour.

    Attributes:
        origin: the pixel where the contour begins.
        degrees: orientation of the first paddle in whole degrees, 0 to the right, increasing clockwise.
        pivot: the point one margin beyond the end of the last paddle.
        orientation: orientation of the last paddle, in radians.
        tip: the pixel where the last paddle ends.
        paddles: all paddles so far; the last one does not keep others out yet.
    """

    origin: tuple[int, int]
    degrees: int
    pivot: tuple[int, int]
    orientation: float
    tip: tuple[int, int]
    paddles: list[tuple[Window, Stamp]]


class Field:
    """The pixels that contours keep free around them; a border around the image avoids cutting stamps.

    The paddle has the margin of this image.
    """

    def __init__(self, design: Design, paddle: Paddle):
        self.design, self.paddle, self.stamps = design, paddle, stamps_of(paddle)
        self.free_area, self.border = free_area_of(paddle, design.side), self.stamps.border
        self.inside = slice(self.border, self.border + design.side)
        keep_out, wide, self.real = _empty(design, paddle.margin, self.border)
        self.keep_out, self.wide = keep_out.copy(), wide.copy()

    def contains(self, y: int, x: int) -> bool:
        """Tell whether a pixel is in the image."""
        return 0 <= y < self.design.side and 0 <= x < self.design.side

    def begin(self, rng: random.Random, starts: Starts) -> Contour | None:
        """Begin a contour at one of the `starts`.

        It is None if an orientation is drawn that cannot begin a contour or has no place, or if the first paddle leaves
        the image in all trials.
        """
        for _ in range(TRIALS):
            degrees = rng.randrange(-180, 180)
            chosen = starts(degrees) if self.free_area.can_begin(degrees) else ()
            if not len(chosen):
                return None
            y, x = divmod(int(chosen[rng.randrange(len(chosen))]), self.design.side)
            contour = self.first_paddle(y, x, degrees)
            if contour is not None:
                return contour
        return None

    def first_paddle(self, y: int, x: int, degrees: int) -> Contour | None:
        """Begin a contour with a first paddle at a pixel; None if the paddle leaves the image."""
        orientation, length = math.radians(degrees), self.paddle.length
        head = moved(y, x, orientation, length)
        pivot = moved(*head, opposite(orientation), length + self.paddle.margin)
        if not self.contains(*head) or not self.contains(*pivot):
            return None
        first = (self.window(y, x), self.stamps.by_degrees(degrees))
        return Contour((y, x), degrees, pivot, orientation, (y, x), [first])

    def window(self, y: int, x: int) -> Window:
        """Return the window of the field that a stamp around a pixel covers."""
        first, side = self.border - self.stamps.reach, 2 * self.stamps.reach + 1
        return slice(y + first, y + first + side), slice(x + first, x + first + side)

    def settle(self, contour: Contour) -> None:
        """Mark the keep-out of the contour's last paddle, so that other paddles stay away from it."""
        window, stamp = contour.paddles[-1]
        view = self.keep_out[window]
        np.maximum(view, stamp.keep_out * self.real[window], out=view)
        view = self.wide[window]
        np.maximum(view, stamp.wide, out=view)

    def extend(self, rng: random.Random, contour: Contour) -> bool:
        """Add a paddle to a contour; return False if there is no room."""
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
        """Compute the mask `[side, side]` of free pixels that are at least `border` pixels from the edge."""
        free = self.keep_out[self.inside, self.inside] <= OCCUPIED
        free[:border] = free[:, :border] = False
        free[len(free) - border :] = free[:, len(free) - border :] = False
        return free

    def snapshot(self) -> tuple[np.ndarray, np.ndarray]:
        """Copy the state, for `restore`."""
        return self.keep_out.copy(), self.wide.copy()

    def restore(self, copies: tuple[np.ndarray, np.ndarray]) -> None:
        """Restore a copied state."""
        self.keep_out, self.wide = copies

    def drawn(self, contours: list[Contour], brightness: float) -> np.ndarray:
        """Draw an image `[side, side]` of contours; where paddles overlap, the brightest one is seen."""
        image = np.zeros(self.keep_out.shape)
        for window, stamp in itertools.chain.from_iterable(contour.paddles for contour in contours):
            view = image[window]
            np.maximum(view, (stamp.line * brightness).astype(np.float32), out=view)
        return image[self.inside, self.inside]


@lru_cache(None)
def _empty(design: Design, margin: int, border: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Make an empty field: keep-out, keep-out thickened by the margin (1 outside the image), and mask of the image."""
    side = design.side

    def framed(width: int, ring: float) -> np.ndarray:
        """Make an array with 0 in the image, a frame of 1 at the image's edge, and `ring` outside the image."""
        image = np.pad(np.zeros((side - 2 * width, side - 2 * width)), width, constant_values=1)
        return np.pad(image, border, constant_values=ring)

    return framed(PADDING, 0), framed(PADDING + margin, 1), 1 - framed(0, 1)
