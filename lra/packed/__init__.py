"""The packed (also called unpadded, or varlen) form of each layer, which neither computes nor stores padding.

The real tokens of a batch are concatenated to `[T, D]`, see `lra.ops.packing`. `encoder_forms.py` and
`attention_forms.py` have a function for each class of `lra.model` and `lra.attention` that has a packed form; the other
files have the operators. Each computes the same as the class, up to rounding. Those padded forms define what is right;
tests compare outputs and gradients. A class without an entry goes through its padded form.

The models of the core do not import this package: they call `lra.base.packed_form`, which `lra/__init__.py` plugs it
into. `model.packed` chooses which form runs.
"""
