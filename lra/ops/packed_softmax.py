"""Softmax kernels between packed tokens and landmarks, a group of sequences at a time.

Neither kernel is ever held whole: a group's part is computed, used and dropped, and computed again for the backward
pass, while it stays in cache.

Letters: T tokens, B sequences, H heads, E dims per head, M landmarks, G sequences of a group, W the longest of them.
"""

from __future__ import annotations

import torch
from torch import Tensor

from lra.ops.packing import Group, Packing


def to_landmarks(q_HBME: Tensor, k_HTE: Tensor, v_HTE: Tensor, packing: Packing) -> Tensor:
    """softmax(q kᵀ) v over each sequence's tokens, q scaled already; zeros for a sequence without any."""
    out_HBME = torch.zeros_like(q_HBME)
    for group in packing.groups:
        for q_BME, k_TE, v_TE, out_BME in zip(q_HBME, k_HTE, v_HTE, out_HBME, strict=True):
            weights_GMW = weights_of_tokens(q_BME[group.sequences], group.take(k_TE), group)
            torch.bmm(weights_GMW, group.take(v_TE), out=out_BME[group.sequences])
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
    for group in packing.groups:
        for h, k_TE in enumerate(k_HTE):
            q_GME, grad_GME = q_HBME[h, group.sequences], grad_HBME[h, group.sequences]
            k_GWE = group.take(k_TE)
            weights_GMW = weights_of_tokens(q_GME, k_GWE, group)
            group.store_product(weights_GMW.mT, grad_GME, grad_v_HTE[h])
            grad_scores_GMW = softmax_backward(torch.bmm(grad_GME, group.take(v_HTE[h]).mT), weights_GMW)
            torch.bmm(grad_scores_GMW, k_GWE, out=grad_q_HBME[h, group.sequences])
            group.store_product(grad_scores_GMW.mT, q_GME, grad_k_HTE[h])
    return grad_q_HBME


def from_landmarks(q_HTE: Tensor, k_HBME: Tensor, v_HBME: Tensor, packing: Packing, *, masked: bool) -> Tensor:
    """softmax(q kᵀ) v of every token over its sequence's landmarks, k scaled already; `[H, T, E]`.

    Args:
        q_HTE: queries.
        k_HBME: landmarks.
        v_HBME: their values.
        packing: of the tokens.
        masked: True when a sequence of fewer than M tokens has as many landmarks.
    """
    out_HTE = torch.empty_like(q_HTE)
    for group in packing.groups:
        for q_TE, k_BME, v_BME, out_TE in zip(q_HTE, k_HBME, v_HBME, out_HTE, strict=True):
            weights_GWM = weights_of_landmarks(group.take(q_TE), k_BME[group.sequences], group, masked)
            group.store_product(weights_GWM, v_BME[group.sequences], out_TE)
    return out_HTE


def from_landmarks_backward(
    grad_HTE: Tensor,
    q_HTE: Tensor,
    k_HBME: Tensor,
    v_HBME: Tensor,
    packing: Packing,
    grad_q_HTE: Tensor,
    *,
    masked: bool,
) -> tuple[Tensor, Tensor]:
    """Gradients of k and v; that of q is written in place."""
    grad_k_HBME, grad_v_HBME = torch.zeros_like(k_HBME), torch.zeros_like(v_HBME)
    for group in packing.groups:
        for h, q_TE in enumerate(q_HTE):
            k_GME, v_GME = k_HBME[h, group.sequences], v_HBME[h, group.sequences]
            q_GWE, grad_GWE = group.take(q_TE), group.take(grad_HTE[h], zeros=True)
            weights_GWM = weights_of_landmarks(q_GWE, k_GME, group, masked)
            torch.bmm(weights_GWM.mT, grad_GWE, out=grad_v_HBME[h, group.sequences])
            grad_scores_GWM = softmax_backward(torch.bmm(grad_GWE, v_GME.mT), weights_GWM)
            torch.bmm(grad_scores_GWM.mT, q_GWE, out=grad_k_HBME[h, group.sequences])
            group.store_product(grad_scores_GWM, k_GME, grad_q_HTE[h])
    return grad_k_HBME, grad_v_HBME


def weights_of_tokens(q_GME: Tensor, k_GWE: Tensor, group: Group) -> Tensor:
    """softmax(q kᵀ) over each sequence's own tokens, `[G, M, W]`."""
    scores = torch.bmm(q_GME, k_GWE.mT)
    for i, count in group.short:
        scores[i, :, count:] = float("-inf")
    return torch.softmax(scores, -1, out=scores)


def weights_of_landmarks(q_GWE: Tensor, k_GME: Tensor, group: Group, masked: bool) -> Tensor:
    """softmax(q kᵀ) over each sequence's own landmarks, `[G, W, M]`."""
    scores = torch.bmm(q_GWE, k_GME.mT)
    if masked:
        for own, count in zip(scores, group.counts, strict=True):
            own[:, count:] = float("-inf")
    return torch.softmax(scores, -1, out=scores)


def softmax_backward(grad: Tensor, weights: Tensor) -> Tensor:
    """Gradient of the scores; overwrites `grad`."""
    return torch.ops.aten._softmax_backward_data.out(grad, weights, -1, weights.dtype, grad_input=grad)
