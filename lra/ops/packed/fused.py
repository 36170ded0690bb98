"""Attention by torch's fused CPU kernel, forward and backward, within operators that compute their own gradients.

The kernel stores no weights: its backward pass computes them again, from the output and the normalisers.

Letters: G sequences of the same length, H heads, Q queries and K keys of each sequence, E dims per head.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

attend = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu
attend_backward = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu_backward

Views = Sequence[Tensor]


def attend_each(queries: Views, keys: Views, values: Views, outs: Views) -> list[Tensor]:
    """Write softmax(q kᵀ / √E) v into the outputs, and return the normalisers of the softmax, `[G, H, Q]` each.

    Args:
        queries: `[G, H, Q, E]` for each group of sequences, as are the outputs.
        keys: `[G, H, K, E]` for each group, as are the values.
        values: the values.
        outs: what is written.
    """
    normalisers = []
    for q, k, v, out in zip(queries, keys, values, outs, strict=True):
        mixed, normaliser = attend(q, k, v)
        out.copy_(mixed)
        normalisers.append(normaliser)
    return normalisers


def attend_each_backward(
    grad_outs: Views, inputs: Sequence[Views], outs: Views, normalisers: Views, grad_inputs: Sequence[Views]
) -> None:
    """Write the gradients of queries, keys and values, the `inputs`, into `grad_inputs`."""
    groups = zip(grad_outs, zip(*inputs, strict=True), outs, normalisers, zip(*grad_inputs, strict=True), strict=True)
    for grad_out, both, out, normaliser, grads in groups:
        passed = attend_backward(grad_out, *both, out, normaliser, 0.0, False)
        for grad, part in zip(grads, passed, strict=True):
            grad.copy_(part)
