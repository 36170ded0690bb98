"""Performer's attention on packed tokens: the same as `PerformerAttention.forward`, without computing padding.

A feature is φ(x) = exp(w·x − ‖x‖²/2 − maximum) + ε; the factor 1 / √R of `lra.ops.linear_attention` cancels. What is
the same for a whole row, exp(−‖x‖²/2), is kept apart, to multiply a narrow matrix beside the features instead of them.
Features are computed for a tile of tokens of one sequence, for all of its heads at once, used while they stay in cache,
and computed again in the backward pass. In the padded form a padded key is a vector of zeros. What it adds to the
maxima and the normalisers is a formula.

Letters: T tokens, U sequences that have tokens, H heads, E dims per head, R random features, W tokens of a sequence,
X = E + 1 columns: values, and ones, whose sum is the normaliser.
"""

from collections.abc import Iterator
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import pad

from lra.ops.first_order import first_order, without_autocast
from lra.ops.packing import Packing

TILE_ENTRIES = 1 << 18  # features of a tile for each thread, over all heads: 1 MiB in float32


class Features:
    """How queries and keys become features: w, a factor of queries and keys, and ε.

    `pass_maximum`: gradients pass through the maxima of queries and keys.
    """

    def __init__(self, projection_RE: Tensor, *, scale: float, epsilon: float, pass_maximum: bool):
        self.directions_RE = projection_RE * scale
        self.scale, self.epsilon, self.pass_maximum = scale, epsilon, pass_maximum

    def products(self, x_HWE: Tensor) -> Tensor:
        """Compute w·x, `[H, W, R]`."""
        return torch.bmm(x_HWE, self.directions_RE.T.expand(len(x_HWE), -1, -1))

    def of_queries(self, q_HWE: Tensor) -> tuple[Tensor, Tensor]:
        """Compute exponentials `[H, W, R]`, at most 1 in each row, and the factors of the rows `[H, W, 1]`."""
        products = self.products(q_HWE)
        return products.sub_(products.amax(2, keepdim=True)).exp_(), self._row_factors(q_HWE)

    def of_keys(self, k_HWE: Tensor, maximum_H: Tensor) -> tuple[Tensor, Tensor]:
        """Compute exponentials `[H, W, R]`, and the factors of the rows `[H, W, 1]`."""
        return self.products(k_HWE).sub_(maximum_H[:, None, None]).exp_(), self._row_factors(k_HWE)

    def backward(self, grad_HWR: Tensor, x_HWE: Tensor) -> tuple[Tensor, Tensor]:
        """Compute the gradient of queries or keys from that of the exponents, and the sums of its rows `[H, W, 1]`."""
        totals_HW1 = grad_HWR.sum(2, keepdim=True)
        grad_x = torch.bmm(grad_HWR, self.directions_RE.expand(len(x_HWE), -1, -1))
        return grad_x.addcmul_(x_HWE, totals_HW1, value=-(self.scale**2)), totals_HW1

    def tiles(self, x_HWE: Tensor) -> Iterator[slice]:
        """Split the tokens into tiles."""
        size = max(1, TILE_ENTRIES * torch.get_num_threads() // (len(x_HWE) * len(self.directions_RE)))
        return (slice(start, start + size) for start in range(0, x_HWE.shape[1], size))

    def _row_factors(self, x_HWE: Tensor) -> Tensor:
        return x_HWE.square().sum(2, keepdim=True).mul_(-(self.scale**2) / 2).exp_()


def sum_keys(k_HWE: Tensor, v_HWE: Tensor, maximum_H: Tensor, features: Features) -> Tensor:
    """Compute Σ (v, 1) φ(k) over the tokens, `[H, X, R]`."""
    sums_HXR = k_HWE.new_zeros(len(k_HWE), v_HWE.shape[2] + 1, len(features.directions_RE))
    for tile in features.tiles(k_HWE):
        exponentials, factors = features.of_keys(k_HWE[:, tile], maximum_H)
        sums_HXR.baddbmm_((_with_ones(v_HWE[:, tile]) * factors).mT, exponentials)
    return sums_HXR.add_(_with_ones(v_HWE).sum(1)[..., None], alpha=features.epsilon)


def sum_keys_backward(
    grad_sums_HXR: Tensor,
    k_HWE: Tensor,
    v_HWE: Tensor,
    maximum_H: Tensor,
    features: Features,
    grad_k_HWE: Tensor,
    grad_v_HWE: Tensor,
) -> Tensor:
    """Return the gradient of the maximum, `[H]`; write those of keys and values into `grad_k_HWE` and `grad_v_HWE`."""
    grad_maximum_H = torch.zeros_like(maximum_H)
    grad_HER = grad_sums_HXR[:, :-1]
    grad_constant_H1E = grad_HER.sum(2)[:, None] * features.epsilon
    for tile in features.tiles(k_HWE):
        exponentials, factors = features.of_keys(k_HWE[:, tile], maximum_H)
        torch.addcmul(grad_constant_H1E, torch.bmm(exponentials, grad_HER.mT), factors, out=grad_v_HWE[:, tile])
        grad_exponents = torch.bmm(_with_ones(v_HWE[:, tile]) * factors, grad_sums_HXR).mul_(exponentials)
        grad_k_HWE[:, tile], totals_HW1 = features.backward(grad_exponents, k_HWE[:, tile])
        grad_maximum_H -= totals_HW1.sum((1, 2))
    return grad_maximum_H


def mix(q_HWE: Tensor, sums_HXR: Tensor, features: Features, out_HWE: Tensor, normaliser_HW1: Tensor) -> None:
    """Write φ(q) Σ φ(k) vᵀ, divided by φ(q) Σ φ(k), into `out_HWE`, and the divisor into `normaliser_HW1`."""
    constant_H1X = sums_HXR.sum(2)[:, None] * features.epsilon
    for tile in features.tiles(q_HWE):
        exponentials, factors = features.of_queries(q_HWE[:, tile])
        mixed_HWX = torch.addcmul(constant_H1X, torch.bmm(exponentials, sums_HXR.mT), factors)
        torch.div(mixed_HWX[..., :-1], mixed_HWX[..., -1:], out=out_HWE[:, tile])
        normaliser_HW1[:, tile] = mixed_HWX[..., -1:]


def mix_backward(
    grad_HWE: Tensor,
    out_HWE: Tensor,
    normaliser_HW1: Tensor,
    q_HWE: Tensor,
    sums_HXR: Tensor,
    features: Features,
    grad_q_HWE: Tensor,
) -> Tensor:
    """Return the gradient of the sums; write that of the queries into `grad_q_HWE`."""
    grad_sums_HXR, grad_constant_HX = torch.zeros_like(sums_HXR), sums_HXR.new_zeros(sums_HXR.shape[:2])
    for tile in features.tiles(q_HWE):
        exponentials, factors = features.of_queries(q_HWE[:, tile])
        grad = grad_HWE[:, tile] / normaliser_HW1[:, tile]
        grad_mixed = torch.cat([grad, -(grad * out_HWE[:, tile]).sum(2, keepdim=True)], 2)
        grad_constant_HX += grad_mixed.sum(1)
        grad_mixed *= factors
        grad_sums_HXR.baddbmm_(grad_mixed.mT, exponentials)
        grad_exponents = torch.bmm(grad_mixed, sums_HXR).mul_(exponentials)
        grad_q, totals_HW1 = features.backward(grad_exponents, q_HWE[:, tile])
        if features.pass_maximum:
            first_HWR = exponentials.floor_()  # 1 at the maximum of a row, which is exp(0), and 0 elsewhere
            shares_HW1 = totals_HW1 / first_HWR.sum(2, keepdim=True)
            grad_q -= torch.bmm(first_HWR, features.directions_RE.expand(len(q_HWE), -1, -1)) * shares_HW1
        grad_q_HWE[:, tile] = grad_q
    return grad_sums_HXR.add_(grad_constant_HX[..., None], alpha=features.epsilon)


def _with_ones(v_HWE: Tensor) -> Tensor:
    return pad(v_HWE, (0, 1), value=1.0)


def packed_performer(
    qkv_PTD: Tensor, packing: Packing, features: Features, *, heads: int, key_maximum: str, padded_keys: str
) -> Tensor:
    """Compute attention with features of a softmax kernel, `[T, H·E]`; H = `heads`.

    `key_maximum` and `padded_keys` as for `PerformerAttention`.
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
        outputs = (packing.by_head(x, heads) for x in (out, normaliser_TH))
        for q, sums_HXR, *outs in zip(planes[0], sums_UHXR, *outputs, strict=True):
            mix(q, sums_HXR, features, *outs)
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
            # The keys that have the maxima get their gradients in equal shares.
            has_maximum_TH = highest_TH == maxima_UH[packing.sequence_T]
            number_UH = torch.zeros_like(maxima_UH).index_add_(0, packing.sequence_T, has_maximum_TH.to(maxima_UH))
            if ctx.whole_batch:
                grad_maxima_UH, number_UH = (x.sum().expand_as(x) for x in (grad_maxima_UH, number_UH))
            at = has_maximum_TH.nonzero(as_tuple=True)  # tokens and heads
            k_THE, grad_k_THE = (x[1].unflatten(1, (heads, -1)) for x in (qkv, grad_qkv))
            first = (k_THE[at] @ features.directions_RE.T).argmax(1)
            shares = (grad_maxima_UH / number_UH)[packing.sequence_T[at[0]], at[1]]
            grad_k_THE[at] += features.directions_RE[first] * shares[:, None]
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
