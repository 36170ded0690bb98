"""Pathfinder: 32 × 32 pixels, one token each."""

from lra.data.pixels import FIRST_ID, draw, encode, square

__all__ = ["FIRST_ID", "VERSION", "draw", "encode", "square"]

VERSION = "2.0.0"  # of the dataset; a store of another one is refused
