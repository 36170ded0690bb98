"""Retrieval: two documents as bytes, each as in Text."""

from lra.data.text import TextCodec

VERSION = "1.0.0"  # of the dataset; a store of another one is refused


class RetrievalCodec(TextCodec):
    """Bytes of two documents as text."""

    version = VERSION
