"""Causal Nyström attention: no position sees a later one. An extension; the paper has none.

Letters: B examples, H heads, L positions, E dims per head, N blocks, C tokens per block.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor
from torch.nn.functional import pad, scaled_dot_product_attention

from lra.ops.softmax import masked_softmax


def causal_nystrom(
    q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor, *, block: int, ridge: float
) -> Tensor:
    """Attend to earlier real tokens: exactly within a token's own block, through landmarks in the blocks before it.

    The real tokens of an example are cut into blocks of C. The means of a block are its landmarks q̃ and k̃, which only
    later blocks use, so they never hold a later token. With the three kernels masked block by block,

    - kernel 2, `A[m, n] = softmax(q̃_m k̃_nᵀ)` for n ≤ m, is a lower triangle, and so is its inverse, which is solved
      exactly: steps of the iterative pseudo-inverse would not be triangles, and would leak;
    - kernel 3 attends from q̃_m to all tokens up to the end of block m; `W = (A + λ I)⁻¹ · kernel 3 · v`;
    - kernel 1 is one softmax over the blocks before a token's own, each with the weight of its C tokens, and over the
      tokens of its own block up to itself. It weighs `W` and the values.

    It is causal attention itself for the tokens of the first block, and everywhere if C is 1 and λ is 0. All else is an
    approximation. The cost is O(L · (N + C)).

    Args:
        q_BHLE, k_BHLE, v_BHLE: queries, keys and values, unscaled; zeros at padding.
        valid_BL: True at real tokens.
        block: C, which must not depend on the sequences' lengths.
        ridge: λ, at least about 1e-3 in float32. Where landmarks attend to earlier blocks more than to their own, W
            grows by up to 1 / (A[m, m] + λ) from block to block, and λ bounds each factor, not their product: with 32
            blocks and such queries and keys, of standard deviation 4 and more, outputs of thousands have been seen, and
            NaN.

    Returns:
        `[B, H, L, E]`, zeros at padding.
    """
    length = q_BHLE.shape[2]
    order_BL = (~valid_BL).long().argsort(dim=1, stable=True)  # real tokens first
    missing = -length % block
    heads = [_take(x, order_BL) for x in (q_BHLE, k_BHLE, v_BHLE)]
    q, k, v = (pad(x, (0, 0, 0, missing)).unflatten(2, (-1, block)) for x in heads)
    real_BNC = pad(valid_BL.gather(1, order_BL), (0, missing)).unflatten(1, (-1, block))
    counts = real_BNC.sum(2)[:, None, :, None].clamp(min=1)
    marks_q, marks_k = q.sum(3) / counts, k.sum(3) / counts
    values_BHNE = _landmark_values(marks_q, marks_k, k, v, real_BNC, ridge)
    out = _attend(q, k, v, marks_k, values_BHNE).flatten(2, 3)[:, :, :length]
    restored = torch.zeros_like(out).scatter(2, order_BL[:, None, :, None].expand_as(out), out)
    return restored * valid_BL[:, None, :, None]


def _take(x_BHLE: Tensor, order_BL: Tensor) -> Tensor:
    return x_BHLE.gather(2, order_BL[:, None, :, None].expand_as(x_BHLE))


def _landmark_values(
    marks_q: Tensor, marks_k: Tensor, k_BHNCE: Tensor, v_BHNCE: Tensor, real_BNC: Tensor, ridge: float
) -> Tensor:
    """Compute W, `[B, H, N, E]`."""
    blocks, dims = marks_q.shape[2:]
    lower_NN = torch.ones(blocks, blocks, dtype=torch.bool, device=marks_q.device).tril()
    kernel_2 = masked_softmax(marks_q @ marks_k.mT * dims**-0.5, lower_NN)
    some_BNC = real_BNC | ~real_BNC.any((1, 2), keepdim=True)  # a row without any key would be NaN
    seen_BNL = (lower_NN[:, :, None] & some_BNC[:, None]).flatten(2)
    keys, values = k_BHNCE.flatten(2, 3), v_BHNCE.flatten(2, 3)
    summary = scaled_dot_product_attention(marks_q, keys, values, attn_mask=seen_BNL[:, None])
    eye = torch.eye(blocks, dtype=kernel_2.dtype, device=kernel_2.device)
    values_BHNE: Tensor = torch.linalg.solve_triangular(kernel_2 + ridge * eye, summary, upper=False)
    return values_BHNE


def _attend(q_BHNCE: Tensor, k_BHNCE: Tensor, v_BHNCE: Tensor, marks_k: Tensor, values: Tensor) -> Tensor:
    """Apply kernel 1: each token attends to the landmarks of earlier blocks and to its block's tokens up to itself."""
    blocks, block = q_BHNCE.shape[2:4]
    device = q_BHNCE.device
    far_NN = torch.ones(blocks, blocks, dtype=torch.bool, device=device).tril(-1)
    near_CC = torch.ones(block, block, dtype=torch.bool, device=device).tril()
    allowed = torch.cat(
        [far_NN[:, None].expand(blocks, block, blocks), near_CC[None].expand(blocks, block, block)], dim=2
    )
    weight = q_BHNCE.new_zeros(blocks + block)
    weight[:blocks] = math.log(block)  # a landmark stands for C tokens
    bias = weight.masked_fill(~allowed, float("-inf"))
    keys = torch.cat([marks_k[:, :, None].expand(-1, -1, blocks, -1, -1), k_BHNCE], dim=3)
    mixed = torch.cat([values[:, :, None].expand(-1, -1, blocks, -1, -1), v_BHNCE], dim=3)
    return scaled_dot_product_attention(q_BHNCE, keys, mixed, attn_mask=bias)
