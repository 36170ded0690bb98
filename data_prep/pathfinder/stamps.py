"""Stamps that Pathfinder images are drawn with: antialiased paddles, one for each orientation, and discs.

A paddle is drawn on a grid that is `FINER` times finer, and reduced with a Lanczos filter. Its `keep_out` is
the same paddle thickened by the margin; no other paddle may be there. Only a few hundred orientations occur, so each
stamp is made once.

Source: the published generator (drewlinsley/pathfinder, `snakes.py`), described in Linsley et al. 2018.
"""

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

import numpy as np
from PIL import Image, ImageDraw
from scipy.ndimage import maximum_filter

FINER = 2  # factor by which the grid for drawing is finer, in the benchmark and here


@dataclass(frozen=True, kw_only=True)
class Paddle:
    """Shape of a paddle, in pixels.

    Attributes:
        length: distance between the two ends.
        thickness: thickness of the stroke; its product with `FINER` is a whole number.
        margin: distance that other paddles keep.
    """

    length: int
    thickness: float
    margin: int

    @cached_property
    def reach(self) -> int:
        """Half of a stamp's side, the centre not counted."""
        return self.length + math.ceil(self.thickness) + self.margin

    def stamp(self, orientation: float) -> tuple[np.ndarray, np.ndarray]:
        """Draw a paddle that begins at the centre: brightness and keep-out `[2 · reach + 1, 2 · reach + 1]` in [0, 1].

        The orientation is in radians, 0 to the right, increasing clockwise.
        """
        fine, centre = self.reach * 2 * FINER + 1, self.reach * FINER
        y, x = moved(centre, centre, orientation, self.length * FINER)
        drawn = Image.new("L", (fine, fine), 0)
        ImageDraw.Draw(drawn).line([(centre, centre), (x, y)], 255, round(self.thickness * FINER))
        line, side = np.asarray(drawn), 2 * self.reach + 1
        return downsampled(line, side), downsampled(dilated(line, self.margin * FINER), side)


def moved(y: float, x: float, orientation: float, distance: float) -> tuple[int, int]:
    """Compute the pixel at a distance in the direction of an orientation, rounded up in both coordinates."""
    return math.ceil(y + distance * math.sin(orientation)), math.ceil(x + distance * math.cos(orientation))


def downsampled(image: np.ndarray, side: int) -> np.ndarray:
    """Resize a uint8 image with a Lanczos filter, and scale it to [0, 1]."""
    resized = Image.fromarray(image).resize((side, side), Image.Resampling.LANCZOS)
    return np.asarray(resized, np.float64) / 255


def dilated(image: np.ndarray, radius: int) -> np.ndarray:
    """Compute the largest value within a radius of each pixel."""
    rows, columns = np.ogrid[-radius : radius + 1, -radius : radius + 1]
    largest: np.ndarray = maximum_filter(image, footprint=rows**2 + columns**2 <= radius**2, mode="constant")
    return largest


def disc(side: int, y: int, x: int, radius: float) -> np.ndarray:
    """Draw a disc around a pixel, as an image `[side, side]` in [0, 1]."""
    rows, columns = np.ogrid[: side * FINER, : side * FINER]
    inside = (rows - y * FINER) ** 2 + (columns - x * FINER) ** 2 <= (radius * FINER) ** 2
    return downsampled(np.where(inside, 255, 0).astype(np.uint8), side)


def opposite(orientation: float) -> float:
    """Compute the opposite orientation, in [-π, π)."""
    return orientation + math.pi if orientation < 0 else orientation - math.pi


class Stamp(NamedTuple):
    """A paddle in a window around the pixel where it begins, `[side, side]` in [0, 1] each.

    Attributes:
        line: brightness of the paddle.
        keep_out: where no other paddle may be.
        wide: keep-out thickened by another margin.
    """

    line: np.ndarray
    keep_out: np.ndarray
    wide: np.ndarray


class Stamps:
    """All stamps of a paddle, and the circle of pixels at which the next paddle may end.

    Attributes:
        reach: half of a stamp's side, the centre not counted.
        border: width of the border that a field needs around the image.
        ring_y, ring_x: offsets of the circle's pixels from its centre.
        ring_orientation: direction from the centre to each pixel, in radians.
        ring_stamps: stamp of the paddle that ends at each pixel.
        by_degrees: maps whole degrees to the stamp of a first paddle.
        ring_weights: maps an orientation and a continuity to the weight of each pixel.
    """

    def __init__(self, paddle: Paddle):
        self.paddle, self.reach = paddle, paddle.reach + paddle.margin
        self.border = 2 * paddle.length + 4 * paddle.margin + 4
        radius = paddle.length + paddle.margin
        angles = np.arange(0, 2 * np.pi, 1 / radius)  # points on the circle at a distance of one pixel
        ring = np.unique(np.floor(radius * np.stack([np.sin(angles), np.cos(angles)], 1)).astype(int), axis=0)
        self.ring_y, self.ring_x = ring.T
        self.ring_orientation = np.arctan2(self.ring_y, self.ring_x)
        self.ring_stamps = [self._stamp(opposite(o)) for o in self.ring_orientation.tolist()]
        self.by_degrees = lru_cache(None)(lambda degrees: self._stamp(math.radians(degrees)))
        self.ring_weights = lru_cache(None)(self._ring_weights)

    def _stamp(self, orientation: float) -> Stamp:
        line, keep_out = (np.pad(stamp, self.paddle.margin) for stamp in self.paddle.stamp(orientation))
        return Stamp(line, keep_out, dilated(keep_out, self.paddle.margin))

    def _ring_weights(self, orientation: float, continuity: float) -> np.ndarray:
        turn = np.abs(self.ring_orientation - orientation)
        turn = np.minimum(np.minimum(turn, 2 * np.pi - turn) * continuity, np.pi / 2)
        weight: np.ndarray = np.cos(turn) ** 2
        return weight


stamps_of = lru_cache(None)(Stamps)
