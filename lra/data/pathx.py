"""Path-X: Pathfinder with 128 × 128 pixels."""

from lra.data.codec import PixelCodec

VERSION = "2.0.0"  # version of the dataset; a store of another version is refused


class PathxCodec(PixelCodec):
    """Shows a sequence as an image of 128 × 128 pixels."""

    version = VERSION
