"""Pathfinder: 32 × 32 pixels, one token each."""

from lra.data.pixels import PixelCodec

VERSION = "2.0.0"  # of the dataset; a store of another one is refused


class PathfinderCodec(PixelCodec):
    """32 × 32 pixels as an image."""

    version = VERSION
