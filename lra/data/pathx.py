"""Path-X: Pathfinder with 128 × 128 pixels."""

from lra.data.pixels import PixelCodec

VERSION = "2.0.0"  # of the dataset; a store of another one is refused


class PathxCodec(PixelCodec):
    """128 × 128 pixels as an image."""

    version = VERSION
