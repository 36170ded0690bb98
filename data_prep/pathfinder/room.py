"""Find where the first paddle of a contour may begin, with the edge effect of the published generator.

The published generator dilates the keep-out of the image with a kernel of the paddle's shape; pixels that stay free
have room. Its dilation (OpenCV's, on float64) uses -1.8e308 beyond the border. So a pixel for which the whole kernel is
outside the image becomes this number. The search treats a negative number as an error, and the attempt to begin a
contour fails at once. This does not depend on what is drawn: an orientation can begin a contour only if, for every
pixel of the image, at least one pixel of the kernel is inside.

At 32 × 32 these are 30 of 360 whole degrees, -150 to -121: the first target contour and all distractors start up and
to the left, and most distractors are never drawn. At 128 × 128 they are all degrees but -59 to -54 with a margin of 2,
and all with a margin of 3. Source: drewlinsley/pathfinder, `snakes.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from data_prep.pathfinder.stamps import Paddle


class Room:
    """Searches room for one paddle in images of one size.

    Args:
        paddle: the paddle, with the image's margin.
        side: side of the image, in pixels.
    """

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

    def places(self, degrees: int, free: np.ndarray) -> np.ndarray:
        """Find the flat indices of pixels for which the whole kernel is `free` `[side, side]` or beyond the border."""
        return np.flatnonzero(np.logical_and.reduce([*self._seen(degrees, free, beyond=True)]))

    def _seen(self, degrees: int, image: np.ndarray, beyond: bool) -> Iterator[np.ndarray]:
        """Yield, for each pixel of the kernel, the image's value there, `[side, side]` by the anchor's place."""
        limit, side = self._limit, self._side
        padded = np.pad(image, limit, constant_values=beyond)
        for y, x in self.kernel(degrees):
            yield padded[limit + y : limit + y + side, limit + x : limit + x + side]


room_of = lru_cache(None)(Room)
