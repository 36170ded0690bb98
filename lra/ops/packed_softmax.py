"""Softmax kernels between packed tokens and landmarks, a group of sequences at a time.

Neither kernel is ever held whole: a group's part is computed, used and dropped, and computed again for the backward
pass, while it stays in cache.

Letters: T tokens, B sequences, H heads, E dims per head, M landmarks, G sequences of a group, W the longest of them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor

from lra.ops.packing import Group, Packing


class Part(NamedTuple):
    """One head of one group: its sequences, its columns, and its rows `[G, W, E]` of some packed tensors."""

    group: Group
    place: tuple[slice, int]
    columns: slice
    tensors: list[Tensor]


def parts(packing: Packing, heads: int, *packed: Tensor) -> Iterator[Part]:
    """Each head of each group, with the parts of `packed`, each `[T, H·E]`."""
    for group in packing.groups:
        padded = [group.padded(x) for x in packed]
        for h in range(heads):
            dims = packed[0].shape[1] // heads
            columns = slice(h * dims, (h + 1) * dims)
            yield Part(group, (group.sequences, h), columns, [x[..., columns] for x in padded])


def hide_padding(scores_GMW: Tensor, group: Group) -> None:
    """−∞ for keys beyond a sequence's end."""
    width = scores_GMW.shape[2]
    for sequence, count in zip(scores_GMW, group.counts, strict=True):
        if count < width:
            sequence[:, count:] = float("-inf")


def hide_unused(scores_GWM: Tensor, group: Group) -> None:
    """−∞ for landmarks that a sequence of fewer tokens does not have."""
    landmarks = scores_GWM.shape[2]
    for sequence, count in zip(scores_GWM, group.counts, strict=True):
        if count < landmarks:
            sequence[:, count:] = float("-inf")


def to_landmarks(q_BHME: Tensor, k_TD: Tensor, v_TD: Tensor, packing: Packing) -> Tensor:
    """softmax(q kᵀ) v over each sequence's tokens, q scaled already; zeros for a sequence without any."""
    out_BHME = torch.zeros_like(q_BHME)
    for group, place, _, (k, v) in parts(packing, q_BHME.shape[1], k_TD, v_TD):
        torch.bmm(_weights_of_tokens(q_BHME[place], k, group), v, out=out_BHME[place])
    return out_BHME


def to_landmarks_backward(
    grad_BHME: Tensor,
    q_BHME: Tensor,
    k_TD: Tensor,
    v_TD: Tensor,
    packing: Packing,
    grad_k_TD: Tensor,
    grad_v_TD: Tensor,
) -> Tensor:
    """Gradient of q; those of k are written, those of v are added, in place."""
    grad_q_BHME = torch.zeros_like(q_BHME)
    for group, place, columns, (k, v) in parts(packing, q_BHME.shape[1], k_TD, v_TD):
        weights, grad = _weights_of_tokens(q_BHME[place], k, group), grad_BHME[place]
        grad_scores = _softmax_backward(torch.bmm(grad, v.mT), weights)
        torch.bmm(grad_scores, k, out=grad_q_BHME[place])
        group.store(torch.bmm(grad_scores.mT, q_BHME[place]), grad_k_TD[:, columns])
        group.store(torch.bmm(weights.mT, grad), grad_v_TD[:, columns])
    return grad_q_BHME


def from_landmarks(q_TD: Tensor, k_BHME: Tensor, v_BHME: Tensor, packing: Packing, *, masked: bool) -> Tensor:
    """softmax(q kᵀ) v of every token over its sequence's landmarks, k scaled already; `[T, H·E]`.

    Args:
        q_TD: queries.
        k_BHME: landmarks.
        v_BHME: their values.
        packing: of the tokens.
        masked: True when a sequence of fewer than M tokens has as many landmarks.
    """
    out_TD = torch.empty_like(q_TD)
    for group, place, columns, (q,) in parts(packing, k_BHME.shape[1], q_TD):
        weights = _weights_of_landmarks(q, k_BHME[place], group, masked)
        group.store(torch.bmm(weights, v_BHME[place]), out_TD[:, columns])
    return out_TD


def from_landmarks_backward(
    grad_TD: Tensor,
    q_TD: Tensor,
    k_BHME: Tensor,
    v_BHME: Tensor,
    packing: Packing,
    grad_q_TD: Tensor,
    *,
    masked: bool,
) -> tuple[Tensor, Tensor]:
    """Gradients of k and v; that of q is written in place."""
    grad_k_BHME, grad_v_BHME = torch.zeros_like(k_BHME), torch.zeros_like(v_BHME)
    for group, place, columns, (q, grad) in parts(packing, k_BHME.shape[1], q_TD, grad_TD):
        weights = _weights_of_landmarks(q, k_BHME[place], group, masked)
        torch.bmm(weights.mT, grad, out=grad_v_BHME[place])
        grad_scores = _softmax_backward(torch.bmm(grad, v_BHME[place].mT), weights)
        torch.bmm(grad_scores.mT, q, out=grad_k_BHME[place])
        group.store(torch.bmm(grad_scores, k_BHME[place]), grad_q_TD[:, columns])
    return grad_k_BHME, grad_v_BHME


def _weights_of_tokens(q_GME: Tensor, k_GWE: Tensor, group: Group) -> Tensor:
    scores = torch.bmm(q_GME, k_GWE.mT)
    hide_padding(scores, group)
    return torch.softmax(scores, -1, out=scores)


def _weights_of_landmarks(q_GWE: Tensor, k_GME: Tensor, group: Group, masked: bool) -> Tensor:
    scores = torch.bmm(q_GWE, k_GME.mT)
    if masked:
        hide_unused(scores, group)
    return torch.softmax(scores, -1, out=scores)


def _softmax_backward(grad: Tensor, weights: Tensor) -> Tensor:
    """Gradient of the scores; overwrites `grad`."""
    return torch.ops.aten._softmax_backward_data.out(grad, weights, -1, weights.dtype, grad_input=grad)
