"""Softmax kernels between packed tokens and landmarks, one sequence at a time, all heads at once.

Neither kernel is ever held whole: a sequence's part is computed, used and dropped, and computed again for the backward
pass, while it stays in cache.

Letters: T tokens, B sequences, H heads, E dims per head, M landmarks, W tokens of one sequence, U landmarks that
it uses.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lra.packed.packing import Packing


def to_landmarks(q_HBME: Tensor, k_TD: Tensor, v_TD: Tensor, packing: Packing) -> Tensor:
    """softmax(q kᵀ) v over each sequence's tokens, q scaled already; zeros for a sequence without any."""
    out_HBME, heads = torch.zeros_like(q_HBME), len(q_HBME)
    tokens = (packing.by_head(x, heads) for x in (k_TD, v_TD))
    marks = (x.unbind(1)[: packing.used] for x in (q_HBME, out_HBME))
    for k_HWE, v_HWE, q_HME, out_HME in zip(*tokens, *marks, strict=True):
        out_HME.copy_(torch.bmm(softmax_weights(q_HME, k_HWE), v_HWE))
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
    tokens = (packing.by_head(x, heads) for x in (k_TD, v_TD, grad_k_TD, grad_v_TD))
    marks = (x.unbind(1)[: packing.used] for x in (grad_HBME, q_HBME, grad_q_HBME))
    for k_HWE, v_HWE, grad_k_HWE, grad_v_HWE, grad_HME, q_HME, grad_q_HME in zip(*tokens, *marks, strict=True):
        weights_HMW = softmax_weights(q_HME, k_HWE)
        grad_v_HWE.copy_(torch.bmm(weights_HMW.mT, grad_HME))
        grad_scores_HMW = softmax_backward(torch.bmm(grad_HME, v_HWE.mT), weights_HMW)
        grad_k_HWE.copy_(torch.bmm(grad_scores_HMW.mT, q_HME))
        grad_q_HME.copy_(torch.bmm(grad_scores_HMW, k_HWE))
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
    tokens = (packing.by_head(x, heads) for x in (q_TD, out_TD))
    marks = (landmarks_of(x, packing, used) for x in (k_HBME, v_HBME))
    for q_HWE, out_HWE, k_HUE, v_HUE in zip(*tokens, *marks, strict=True):
        out_HWE.copy_(torch.bmm(softmax_weights(q_HWE, k_HUE), v_HUE))
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
    tokens = (packing.by_head(x, heads) for x in (grad_TD, q_TD, grad_q_TD))
    marks = (landmarks_of(x, packing, used) for x in (k_HBME, v_HBME, grad_k_HBME, grad_v_HBME))
    for grad_HWE, q_HWE, grad_q_HWE, k_HUE, v_HUE, grad_k_HUE, grad_v_HUE in zip(*tokens, *marks, strict=True):
        weights_HWU = softmax_weights(q_HWE, k_HUE)
        grad_v_HUE.copy_(torch.bmm(weights_HWU.mT, grad_HWE))
        grad_scores_HWU = softmax_backward(torch.bmm(grad_HWE, v_HUE.mT), weights_HWU)
        grad_k_HUE.copy_(torch.bmm(grad_scores_HWU.mT, q_HWE))
        grad_q_HWE.copy_(torch.bmm(grad_scores_HWU, k_HUE))
    return grad_k_HBME, grad_v_HBME


def landmarks_of(x_HBME: Tensor, packing: Packing, used: list[int]) -> list[Tensor]:
    """Each used sequence's own landmarks, views `[H, U, E]`."""
    return [x[:, :count] for x, count in zip(x_HBME.unbind(1)[: packing.used], used, strict=False)]


def softmax_weights(q: Tensor, k: Tensor) -> Tensor:
    """softmax(q kᵀ) of each head."""
    scores = torch.bmm(q, k.mT)
    return torch.softmax(scores, -1, out=scores)


def softmax_backward(grad: Tensor, weights: Tensor) -> Tensor:
    """Gradient of the scores; overwrites `grad`."""
    grad_scores: Tensor = torch.ops.aten._softmax_backward_data.out(grad, weights, -1, weights.dtype, grad_input=grad)
    return grad_scores
