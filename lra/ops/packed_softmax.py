"""Softmax kernels between packed tokens and landmarks, one sequence at a time, all heads at once.

Neither kernel is ever held whole: a sequence's part is computed, used and dropped, and computed again for the backward
pass, while it stays in cache.

Letters: T tokens, B sequences, H heads, E dims per head, M landmarks, W tokens of one sequence, U landmarks that
it uses.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lra.ops.packing import Packing


def to_landmarks(q_HBME: Tensor, k_TD: Tensor, v_TD: Tensor, packing: Packing) -> Tensor:
    """softmax(q kᵀ) v over each sequence's tokens, q scaled already; zeros for a sequence without any."""
    out_HBME, heads = torch.zeros_like(q_HBME), len(q_HBME)
    for b, rows in packing.sequences():
        weights_HMW = softmax_weights(q_HBME[:, b], by_head(k_TD[rows], heads))
        out_HBME[:, b] = torch.bmm(weights_HMW, by_head(v_TD[rows], heads))
    return out_HBME


def to_landmarks_backward(
    grad_HBME: Tensor,
    q_HBME: Tensor,
    k_TD: Tensor,
    v_TD: Tensor,
    packing: Packing,
    grad_k_TD: Tensor,
    grad_v_TD: Tensor,
) -> Tensor:
    """Gradient of q; those of k and v are written in place."""
    grad_q_HBME, heads = torch.zeros_like(q_HBME), len(q_HBME)
    for b, rows in packing.sequences():
        q_HME, k_HWE, grad_HME = q_HBME[:, b], by_head(k_TD[rows], heads), grad_HBME[:, b]
        weights_HMW = softmax_weights(q_HME, k_HWE)
        torch.bmm(weights_HMW.mT, grad_HME, out=by_head(grad_v_TD[rows], heads))
        grad_scores_HMW = softmax_backward(torch.bmm(grad_HME, by_head(v_TD[rows], heads).mT), weights_HMW)
        torch.bmm(grad_scores_HMW.mT, q_HME, out=by_head(grad_k_TD[rows], heads))
        grad_q_HBME[:, b] = torch.bmm(grad_scores_HMW, k_HWE)
    return grad_q_HBME


def from_landmarks(q_TD: Tensor, k_HBME: Tensor, v_HBME: Tensor, packing: Packing, used: list[int]) -> Tensor:
    """softmax(q kᵀ) v of every token over its sequence's landmarks, k scaled already; `[T, H·E]`.

    Args:
        q_TD: queries.
        k_HBME: landmarks.
        v_HBME: their values.
        packing: of the tokens.
        used: how many landmarks each sequence has, the first ones.
    """
    out_TD, heads = torch.empty_like(q_TD), len(k_HBME)
    for b, rows in packing.sequences():
        weights_HWU = softmax_weights(by_head(q_TD[rows], heads), k_HBME[:, b, : used[b]])
        torch.bmm(weights_HWU, v_HBME[:, b, : used[b]], out=by_head(out_TD[rows], heads))
    return out_TD


def from_landmarks_backward(
    grad_TD: Tensor,
    q_TD: Tensor,
    k_HBME: Tensor,
    v_HBME: Tensor,
    packing: Packing,
    used: list[int],
    grad_q_TD: Tensor,
) -> tuple[Tensor, Tensor]:
    """Gradients of k and v; that of q is written in place."""
    grad_k_HBME, grad_v_HBME, heads = torch.zeros_like(k_HBME), torch.zeros_like(v_HBME), len(k_HBME)
    for b, rows in packing.sequences():
        q_HWE, grad_HWE = by_head(q_TD[rows], heads), by_head(grad_TD[rows], heads)
        k_HUE = k_HBME[:, b, : used[b]]
        weights_HWU = softmax_weights(q_HWE, k_HUE)
        grad_v_HBME[:, b, : used[b]] = torch.bmm(weights_HWU.mT, grad_HWE)
        grad_scores_HWU = softmax_backward(torch.bmm(grad_HWE, v_HBME[:, b, : used[b]].mT), weights_HWU)
        grad_k_HBME[:, b, : used[b]] = torch.bmm(grad_scores_HWU.mT, q_HWE)
        torch.bmm(grad_scores_HWU, k_HUE, out=by_head(grad_q_TD[rows], heads))
    return grad_k_HBME, grad_v_HBME


def by_head(x_WD: Tensor, heads: int) -> Tensor:
    """A view `[H, W, E]`."""
    return x_WD.unflatten(1, (heads, -1)).transpose(0, 1)


def softmax_weights(q: Tensor, k: Tensor) -> Tensor:
    """softmax(q kᵀ) of each head."""
    scores = torch.bmm(q, k.mT)
    return torch.softmax(scores, -1, out=scores)


def softmax_backward(grad: Tensor, weights: Tensor) -> Tensor:
    """Gradient of the scores; overwrites `grad`."""
    return torch.ops.aten._softmax_backward_data.out(grad, weights, -1, weights.dtype, grad_input=grad)
