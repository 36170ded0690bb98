"""Path-X: Pathfinder with 128 × 128 pixels."""

from lra.data.pixels import FIRST_ID, draw, encode, square

__all__ = ["FIRST_ID", "draw", "encode", "square"]
