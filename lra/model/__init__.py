"""The shared encoder and its parts: embedding, block, pooling, head, classifier."""
