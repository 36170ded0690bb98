"""The shared encoder: embedding, block, pooling, head, classifier."""
