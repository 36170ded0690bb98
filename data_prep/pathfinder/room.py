"""Where the first paddle of a contour may begin: the published generator's search for room, with its edge effect.

That generator dilates the image's keep-out with a kernel of the paddle's shape; what stays free is room. Beyond the
border its dilation (OpenCV's, of float64) sees -1.8e308, so a pixel from which the whole kernel lies outside of the
image becomes that number, the search takes the negative number for an error, and the attempt to begin fails at once.
It does not depend on what is drawn: an orientation can begin a contour only where from every pixel of the image at
least one pixel of its kernel is inside.

At 32 × 32 these are 30 of 360 whole degrees, -150 to -121: the first target contour and all distractors start up and
to the left, and most distractors never come. At 128 × 128 they are all but -59 to -54 with a margin of 2, and all
with a margin of 3. Source: drewlinsley/pathfinder, `snakes.py`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from data_prep.pathfinder.stamps import Paddle


class Room:
    """The search for room with one paddle in images of one size.

    Args:
        paddle: with the image's margin.
        side: of the image, in pixels.
    """

    def __init__(self, paddle: Paddle, side: int):
        self._paddle, self._side, self._limit = paddle, side, paddle.length + paddle.margin
        self.kernel = lru_cache(None)(self._kernel)
        self.can_begin = lru_cache(None)(self._can_begin)

    def _kernel(self, degrees: int) -> list[tuple[int, int]]:
        """Rows and columns of the kernel's pixels, around its anchor.

        It is the paddle's keep-out, one pixel off the anchor to the lower right, in a square that reaches
        `length + margin` around the anchor, and cast to bytes: of its values in [0, 1] only the full ones stay.
        """
        _, keep_out = self._paddle.stamp(math.radians(degrees))
        full = np.argwhere(keep_out.astype(np.uint8)) - self._paddle.reach + 1
        return [(y, x) for y, x in full.tolist() if abs(y) <= self._limit and abs(x) <= self._limit]

    def _can_begin(self, degrees: int) -> bool:
        """Whether from every pixel at least one pixel of the kernel is in the image."""
        inside = np.ones((self._side, self._side), bool)
        return bool(np.logical_or.reduce([*self._seen(degrees, inside, beyond=False)]).all())

    def places(self, degrees: int, free: np.ndarray) -> np.ndarray:
        """Flat numbers of the pixels from which the whole kernel is `free` `[side, side]`, or beyond the border."""
        return np.flatnonzero(np.logical_and.reduce([*self._seen(degrees, free, beyond=True)]))

    def _seen(self, degrees: int, image: np.ndarray, beyond: bool) -> Iterator[np.ndarray]:
        """What each pixel of the kernel sees of an image, `[side, side]` over the places of its anchor."""
        limit, side = self._limit, self._side
        padded = np.pad(image, limit, constant_values=beyond)
        for y, x in self.kernel(degrees):
            yield padded[limit + y : limit + y + side, limit + x : limit + x + side]


room_of = lru_cache(None)(Room)
