"""Linear attention with random features, for one packed sequence and all of its heads at once.

Features are computed for a tile of tokens, used while they stay in cache, and computed again in the backward pass.

Letters: H heads, E dims per head, R random features, W tokens of the sequence, X = E + 1 columns: values, and ones,
whose sum is the normaliser.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from lra.ops.packed.random_features import Features


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
