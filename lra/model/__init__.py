"""The shared encoder and its parts: embedding, block, pooling, head, classifier; the encoder for any sequence."""

from lra.model.sequence_encoder import SequenceEncoder

__all__ = ["SequenceEncoder"]
