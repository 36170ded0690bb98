"""Pathfinder: 32 × 32 pixels, one token each."""

from lra.data.pixels import FIRST_ID, draw, encode, square

__all__ = ["FIRST_ID", "draw", "encode", "square"]
