"""Softmax kernels between packed tokens and landmarks, one sequence at a time, all heads at once.

A kernel is never stored as a whole: the part of one sequence is computed and used while it stays in cache, and the
backward pass computes it again.

Letters: T tokens, B sequences, H heads, E dims per head, M landmarks, W tokens of one sequence, U landmarks that the
sequence uses.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lra.packed.packing import Packing


def to_landmarks(q_HBME: Tensor, k_TD: Tensor, v_TD: Tensor, packing: Packing) -> Tensor:
    """Compute softmax(q kᵀ) v over the tokens of each sequence, with q already scaled; `[H, B, M, E]`.

    A sequence without tokens gives zeros.
    """
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
    """Return the gradient of q; write those of k and v into `grad_k_TD` and `grad_v_TD`."""
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
    """Compute softmax(q kᵀ) v of every token over the landmarks of its sequence, with k already scaled; `[T, H·E]`.

    Args:
        q_TD: queries.
        k_HBME: landmark keys.
        v_HBME: values of the landmarks.
        packing: the tokens' places in the padded batch.
        used: number of landmarks of each sequence; only the first ones are used.
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
    """Return the gradients of k and v; write that of q into `grad_q_TD`."""
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
    """View the used landmarks of each sequence that has tokens as `[H, U, E]`."""
    return [x[:, :count] for x, count in zip(x_HBME.unbind(1)[: packing.used], used, strict=False)]


def softmax_weights(q: Tensor, k: Tensor) -> Tensor:
    """Compute softmax(q kᵀ) for each head."""
    scores = torch.bmm(q, k.mT)
    return torch.softmax(scores, -1, out=scores)


def softmax_backward(grad: Tensor, weights: Tensor) -> Tensor:
    """Compute the gradient of the scores; overwrites `grad`."""
    grad_scores: Tensor = torch.ops.aten._softmax_backward_data.out(grad, weights, -1, weights.dtype, grad_input=grad)
    return grad_scores
