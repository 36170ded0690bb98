"""Pathfinder: 32 × 32 pixels, one token each."""

from lra.data.codec import PixelCodec

VERSION = "2.0.0"  # version of the dataset; a store of another version is refused


class PathfinderCodec(PixelCodec):
    """Shows a sequence as an image of 32 × 32 pixels."""

    version = VERSION
