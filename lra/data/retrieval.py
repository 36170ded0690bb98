"""Retrieval: two documents as bytes; each document is encoded as in Text."""

from lra.data.text import TextCodec

VERSION = "1.0.0"  # version of the dataset; a store of another version is refused


class RetrievalCodec(TextCodec):
    """Shows the bytes of two documents as text."""

    version = VERSION
