"""Performer's attention on packed tokens: the same as `PerformerAttention.forward`, without computing padding.

In the padded form a padded key is a vector of zeros. What it adds to the maxima and the normalisers is a formula.

Letters: T tokens, U sequences that have tokens, H heads, E dims per head, X = E + 1 columns, R random features.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from lra.ops.first_order import first_order, without_autocast
from lra.ops.packed.linear_attention import mix, mix_backward, sum_keys, sum_keys_backward
from lra.ops.packed.packing import Packing
from lra.ops.packed.random_features import Features


def packed_performer(
    qkv_PTD: Tensor, packing: Packing, features: Features, *, heads: int, key_maximum: str, padded_keys: str
) -> Tensor:
    """Compute attention with features of a softmax kernel, `[T, H·E]`.

    Args:
        qkv_PTD: queries, keys and values, `[3, T, H·E]`.
        packing: the tokens' places in the padded batch.
        features: how queries and keys become features.
        heads: H.
        key_maximum: `batch` or `per_head`, see `PerformerAttention`.
        padded_keys: `counted` or `masked`, see `PerformerAttention`.
    """
    padding_U = packing.length - packing.counts_B[: packing.used]
    counted_U1 = padding_U[:, None].to(qkv_PTD) * (padded_keys == "counted")
    out_TD: Tensor = _PackedPerformer.apply(qkv_PTD, packing, features, heads, key_maximum == "batch", counted_U1)
    return out_TD


class _PackedPerformer(torch.autograd.Function):
    @staticmethod
    @without_autocast
    def forward(
        ctx: Any, qkv: Tensor, packing: Packing, features: Features, heads: int, whole_batch: bool, counted_U1: Tensor
    ) -> Tensor:
        highest_TH = _highest_products(qkv[1], packing, features, heads)
        maxima_UH = _key_maxima(highest_TH, packing, counted_U1, whole_batch)
        planes = [packing.by_head(x, heads) for x in qkv]
        sums = [sum_keys(k, v, top, features) for k, v, top in zip(*planes[1:], maxima_UH, strict=True)]
        sums_UHXR = torch.stack(sums) if sums else qkv.new_zeros(0)
        padding_UH = _exponentials_of_padding(maxima_UH, counted_U1) + counted_U1 * features.epsilon
        for sums_HXR, padding_H in zip(sums_UHXR, padding_UH, strict=True):
            sums_HXR[:, -1] += padding_H[:, None]
        out, normaliser_TH = torch.empty_like(qkv[0]), torch.empty_like(highest_TH)
        written = (packing.by_head(x, heads) for x in (out, normaliser_TH))
        for q, sums_HXR, *both in zip(planes[0], sums_UHXR, *written, strict=True):
            mix(q, sums_HXR, features, *both)
        ctx.save_for_backward(qkv, out, normaliser_TH, highest_TH, maxima_UH, sums_UHXR, counted_U1)
        ctx.packing, ctx.features, ctx.heads, ctx.whole_batch = packing, features, heads, whole_batch
        return out

    @staticmethod
    @first_order
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        qkv, out, normaliser_TH, highest_TH, maxima_UH, sums_UHXR, counted_U1 = ctx.saved_tensors
        packing, features, heads = ctx.packing, ctx.features, ctx.heads
        grad_qkv, grad_maxima_UH = torch.empty_like(qkv), torch.empty_like(maxima_UH)
        padding_UH = _exponentials_of_padding(maxima_UH, counted_U1)
        tokens = (packing.by_head(x, heads) for x in (*qkv, grads[0], out, normaliser_TH, *grad_qkv))
        for u, (q, k, v, grad, mixed, normaliser, grad_q, grad_k, grad_v) in enumerate(zip(*tokens, strict=True)):
            grad_sums = mix_backward(grad, mixed, normaliser, q, sums_UHXR[u], features, grad_q)
            grad_maxima_UH[u] = sum_keys_backward(grad_sums, k, v, maxima_UH[u], features, grad_k, grad_v)
            grad_maxima_UH[u] -= padding_UH[u] * grad_sums[:, -1].sum(1)
        if features.pass_maximum:
            _pass_to_maxima(
                grad_maxima_UH, highest_TH, maxima_UH, packing, features, ctx.whole_batch, qkv[1], grad_qkv[1]
            )
        return grad_qkv, None, None, None, None, None


def _highest_products(k_TD: Tensor, packing: Packing, features: Features, heads: int) -> Tensor:
    """Compute the largest w·k of each key, `[T, H]`."""
    highest_TH = k_TD.new_empty(len(k_TD), heads)
    for k_HWE, highest_HW1 in zip(*(packing.by_head(x, heads) for x in (k_TD, highest_TH)), strict=True):
        for tile in features.tiles(k_HWE):
            highest_HW1[:, tile] = features.products(k_HWE[:, tile]).amax(2, keepdim=True)
    return highest_TH


def _key_maxima(highest_TH: Tensor, packing: Packing, counted_U1: Tensor, whole_batch: bool) -> Tensor:
    """Compute the maximum that is subtracted for each head of each sequence, `[U, H]`; products with padding are 0."""
    if not packing.used:
        return highest_TH
    maxima_UH = torch.stack([x.amax(0) for x in highest_TH.split(packing.counts[: packing.used])])
    if not whole_batch:
        return torch.where(counted_U1 > 0, maxima_UH.clamp(min=0), maxima_UH)
    padded = len(highest_TH) < packing.batch * packing.length
    return maxima_UH.amax().clamp(min=0.0 if padded else float("-inf")).expand_as(maxima_UH).contiguous()


def _exponentials_of_padding(maxima_UH: Tensor, counted_U1: Tensor) -> Tensor:
    """Sum the exponentials of counted padded keys, whose exponents are 0 − maximum, for each feature; `[U, H]`."""
    return counted_U1 * maxima_UH.clamp(min=0).neg().exp()  # where padding is counted, no maximum is below 0


def _pass_to_maxima(
    grad_UH: Tensor,
    highest_TH: Tensor,
    maxima_UH: Tensor,
    packing: Packing,
    features: Features,
    whole_batch: bool,
    k_TD: Tensor,
    grad_k_TD: Tensor,
) -> None:
    """Add the gradients of the maxima to those of the keys that have them, in equal shares."""
    places_TH = highest_TH == maxima_UH[packing.sequence_T]
    number_UH = torch.zeros_like(maxima_UH).index_add_(0, packing.sequence_T, places_TH.to(maxima_UH))
    if whole_batch:
        grad_UH, number_UH = (x.sum().expand_as(x) for x in (grad_UH, number_UH))
    tokens, heads = places_TH.nonzero(as_tuple=True)
    k, grad_k = (x.unflatten(1, (places_TH.shape[1], -1)) for x in (k_TD, grad_k_TD))
    first = (k[tokens, heads] @ features.directions_RE.T).argmax(1)
    shares = (grad_UH / number_UH)[packing.sequence_T[tokens], heads]
    grad_k[tokens, heads] += features.directions_RE[first] * shares[:, None]
