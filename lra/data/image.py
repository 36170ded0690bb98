"""CIFAR-10 in grey: one token per pixel, its level 0 to 255, row by row."""

from __future__ import annotations

import numpy as np

from lra.data.pixels import FIRST_ID, PixelCodec

__all__ = ["CLASSES", "FIRST_ID", "ImageCodec", "encode"]
VERSION = "1.0.0"  # of the dataset; a store of another one is refused
SIDE = 32
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
RED, GREEN, BLUE = np.float32(0.2989), np.float32(0.587), np.float32(0.114)  # TensorFlow's weights


def encode(rgb: np.ndarray, side: int = SIDE) -> np.ndarray:
    """Levels `[..., side · side]` uint8 of images.

    ⌊255.5 · (.2989 R + .587 G + .114 B) / 255⌋ in float32, which is what `tf.image.rgb_to_grayscale` makes of uint8.

    Args:
        rgb: `[..., 3, 32, 32]` uint8.
        side: 32, or a divisor of it: every (32 / side)-th row and column.
    """
    step = SIDE // side
    red, green, blue = np.moveaxis(rgb[..., ::step, ::step], -3, 0).astype(np.float32) * (np.float32(1) / 255)
    grey = (RED * red + GREEN * green + BLUE * blue) * np.float32(255.5)
    levels: np.ndarray = grey.astype(np.uint8).reshape(*rgb.shape[:-3], side * side)
    return levels


class ImageCodec(PixelCodec):
    """32 × 32 pixels as an image."""

    version = VERSION
