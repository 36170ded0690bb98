"""The packed (also called unpadded, or varlen) form of each layer, which neither computes nor stores padding.

The real tokens of a batch are concatenated to `[T, D]`, see `packing.py`. Each operator computes the same as a layer of
`lra.model` or a backend of `lra.attention`, up to rounding. Those padded forms define what is right; tests compare
outputs and gradients. `model.packed` chooses which form runs.
"""
