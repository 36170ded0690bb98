"""Real tokens alone: the packed (also called unpadded, or varlen) form of each layer.

A batch's real tokens stand one after the other, `[T, D]`, see `packing.py`; padding is neither computed nor stored.
Each operator says the same as a layer of `lra.model` or a backend of `lra.attention`, to rounding: those padded forms
are what counts, and tests compare outputs and gradients. `model.packed` chooses which of the two runs.
"""
