"""Retrieval: two documents as bytes, each as in Text."""

from lra.data.text import FIRST_ID, decode, draw, encode

__all__ = ["FIRST_ID", "decode", "draw", "encode"]
