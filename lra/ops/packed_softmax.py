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


def to_landmarks(q_HBME: Tensor, k_HTE: Tensor, v_HTE: Tensor, packing: Packing) -> Tensor:
    """softmax(q kᵀ) v over each sequence's tokens, q scaled already; zeros for a sequence without any."""
    out_HBME = torch.zeros_like(q_HBME)
    for b, rows in packing.sequences():
        out_HBME[:, b] = torch.bmm(_weights(q_HBME[:, b], k_HTE[:, rows]), v_HTE[:, rows])
    return out_HBME


def to_landmarks_backward(
    grad_HBME: Tensor,
    q_HBME: Tensor,
    k_HTE: Tensor,
    v_HTE: Tensor,
    packing: Packing,
    grad_k_HTE: Tensor,
    grad_v_HTE: Tensor,
) -> Tensor:
    """Gradient of q; those of k and v are written in place."""
    grad_q_HBME = torch.zeros_like(q_HBME)
    for b, rows in packing.sequences():
        q_HME, k_HWE, grad_HME = q_HBME[:, b], k_HTE[:, rows], grad_HBME[:, b]
        weights_HMW = _weights(q_HME, k_HWE)
        torch.bmm(weights_HMW.mT, grad_HME, out=grad_v_HTE[:, rows])
        grad_scores_HMW = _softmax_backward(torch.bmm(grad_HME, v_HTE[:, rows].mT), weights_HMW)
        torch.bmm(grad_scores_HMW.mT, q_HME, out=grad_k_HTE[:, rows])
        grad_q_HBME[:, b] = torch.bmm(grad_scores_HMW, k_HWE)
    return grad_q_HBME


def from_landmarks(q_HTE: Tensor, k_HBME: Tensor, v_HBME: Tensor, packing: Packing, used: list[int]) -> Tensor:
    """softmax(q kᵀ) v of every token over its sequence's landmarks, k scaled already; `[H, T, E]`.

    Args:
        q_HTE: queries.
        k_HBME: landmarks.
        v_HBME: their values.
        packing: of the tokens.
        used: how many landmarks each sequence has, the first ones.
    """
    out_HTE = torch.empty_like(q_HTE)
    for b, rows in packing.sequences():
        weights_HWU = _weights(q_HTE[:, rows], k_HBME[:, b, : used[b]])
        torch.bmm(weights_HWU, v_HBME[:, b, : used[b]], out=out_HTE[:, rows])
    return out_HTE


def from_landmarks_backward(
    grad_HTE: Tensor,
    q_HTE: Tensor,
    k_HBME: Tensor,
    v_HBME: Tensor,
    packing: Packing,
    used: list[int],
    grad_q_HTE: Tensor,
) -> tuple[Tensor, Tensor]:
    """Gradients of k and v; that of q is written in place."""
    grad_k_HBME, grad_v_HBME = torch.zeros_like(k_HBME), torch.zeros_like(v_HBME)
    for b, rows in packing.sequences():
        q_HWE, k_HUE, grad_HWE = q_HTE[:, rows], k_HBME[:, b, : used[b]], grad_HTE[:, rows]
        weights_HWU = _weights(q_HWE, k_HUE)
        grad_v_HBME[:, b, : used[b]] = torch.bmm(weights_HWU.mT, grad_HWE)
        grad_scores_HWU = _softmax_backward(torch.bmm(grad_HWE, v_HBME[:, b, : used[b]].mT), weights_HWU)
        grad_k_HBME[:, b, : used[b]] = torch.bmm(grad_scores_HWU.mT, q_HWE)
        torch.bmm(grad_scores_HWU, k_HUE, out=grad_q_HTE[:, rows])
    return grad_k_HBME, grad_v_HBME


def _weights(q: Tensor, k: Tensor) -> Tensor:
    """softmax(q kᵀ)."""
    scores = torch.bmm(q, k.mT)
    return torch.softmax(scores, -1, out=scores)


def _softmax_backward(grad: Tensor, weights: Tensor) -> Tensor:
    """Gradient of the scores; overwrites `grad`."""
    return torch.ops.aten._softmax_backward_data.out(grad, weights, -1, weights.dtype, grad_input=grad)
