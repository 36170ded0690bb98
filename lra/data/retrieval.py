"""Retrieval: two documents as bytes, each as in Text."""

from lra.data.text import FIRST_ID, decode, draw, encode

__all__ = ["FIRST_ID", "VERSION", "decode", "draw", "encode"]

VERSION = "1.0.0"  # of the dataset; a store of another one is refused
