"""CIFAR-10 in grey: each pixel's level, 0 to 255, is a token; pixels are read row by row."""

import numpy as np

from lra.data.codec import FIRST_ID, PixelCodec

__all__ = ["CLASSES", "FIRST_ID", "ImageCodec", "encode"]
VERSION = "1.0.0"  # version of the dataset; a store of another version is refused
SIDE = 32
CLASSES = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")
RED, GREEN, BLUE = np.float32(0.2989), np.float32(0.587), np.float32(0.114)  # TensorFlow's weights


def encode(rgb: np.ndarray, side: int = SIDE) -> np.ndarray:
    """Convert colour images `[..., 3, 32, 32]` uint8 to grey levels `[..., side · side]` uint8.

    The level is ⌊255.5 · (.2989 R + .587 G + .114 B) / 255⌋ in float32, as in `tf.image.rgb_to_grayscale` for uint8.
    Every (32 / side)-th row and column is used.
    """
    step = SIDE // side
    red, green, blue = np.moveaxis(rgb[..., ::step, ::step], -3, 0).astype(np.float32) * (np.float32(1) / 255)
    grey = (RED * red + GREEN * green + BLUE * blue) * np.float32(255.5)
    levels: np.ndarray = grey.astype(np.uint8).reshape(*rgb.shape[:-3], side * side)
    return levels


class ImageCodec(PixelCodec):
    """Shows a sequence as an image of 32 × 32 pixels."""

    version = VERSION
