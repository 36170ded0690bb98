"""Slow twins of the attentions whose weights need no L × L matrix: the matrix is written out, one position at a time.

The fast forms were compared in float64 with code that the authors released. cosFormer, 100 positions: outputs differ by
at most 3.3e-16. Skyformer with the same landmarks, 100 positions, 40 of one example padded: by 6e-16 relative to their
norm, for queries and keys of standard deviation 1 and 2. For .3 its six iterations are 2 % from the inverse, twelve
2e-15.

Letters: B examples, H heads, L positions, E dims per head, M landmarks.
"""

import math
from collections.abc import Callable, Iterator

import torch
from torch import Tensor


def real_positions(valid: Tensor | None, batch: int, length: int) -> Iterator[list[int]]:
    """The positions of each example's real tokens."""
    for b in range(batch):
        yield list(range(length)) if valid is None else valid[b].nonzero()[:, 0].tolist()


def weighted_mean(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    valid: Tensor | None,
    weights_of: Callable[[Tensor, Tensor, int, list[int]], Tensor],
) -> Tensor:
    """Σ_j w_ij v_j / Σ_j w_ij over the real j; the weights of a query `[H, 1, E]` and all real keys are `[H, J]`."""
    out = torch.zeros_like(v)
    for b, real in enumerate(real_positions(valid, len(q), q.shape[2])):
        for i in real:
            weights = weights_of(q[b, :, i, None], k[b, :, real], i, real)
            total = weights.sum(1, keepdim=True)
            shares = weights / torch.where(total > 0, total, 1.0)
            out[b, :, i] = (shares[..., None] * v[b, :, real]).sum(1)
    return out


def linear(q: Tensor, k: Tensor, v: Tensor, valid: Tensor | None, **_: object) -> Tensor:
    """Equation 5 of Katharopoulos et al. 2020 with φ(x) = elu(x) + 1, which is x + 1 for x > 0 and exp(x) else."""

    def phi(x: Tensor) -> Tensor:
        return torch.where(x > 0, x + 1, x.exp())

    return weighted_mean(q, k, v, valid, lambda one, keys, i, real: (phi(one) * phi(keys)).sum(-1))


def average(q: Tensor, k: Tensor, v: Tensor, valid: Tensor | None, **_: object) -> Tensor:
    """The same weight for every real position."""
    return weighted_mean(q, k, v, valid, lambda one, keys, i, real: torch.ones_like(keys[:, :, 0]))


def cosformer(q: Tensor, k: Tensor, v: Tensor, valid: Tensor | None, **_: object) -> Tensor:
    """Equation 9 of Qin et al. 2022: relu(q)·relu(k) cos(π/2 · (i − j) / M); M is the longest length, here L."""

    def weights(one: Tensor, keys: Tensor, i: int, real: list[int]) -> Tensor:
        near = torch.tensor([math.cos(math.pi / 2 * (i - j) / q.shape[2]) for j in real], dtype=q.dtype)
        return (one.relu() * keys.relu()).sum(-1) * near

    return weighted_mean(q, k, v, valid, weights)


def double_softmax(q: Tensor, k: Tensor, v: Tensor, valid: Tensor | None, **_: object) -> Tensor:
    """Section 3.2 of Shen et al. 2021, with the softmax normalisation: of a query over E, of a feature of k over L."""
    out = torch.zeros_like(v)
    for b, real in enumerate(real_positions(valid, len(q), q.shape[2])):
        if real:
            keys = k[b, :, real].exp()
            keys = keys / keys.sum(1, keepdim=True)
            for i in real:
                query = q[b, :, i].exp() / q[b, :, i].exp().sum(-1, keepdim=True)
                shares = (query[:, None] * keys).sum(-1)
                out[b, :, i] = (shares[..., None] * v[b, :, real]).sum(1)
    return out


def skyformer(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    valid: Tensor | None,
    *,
    num_landmarks: int,
    regularisation: float,
    landmark_seed: Tensor,
    **_: object,
) -> Tensor:
    """Section 4 of Chen et al. 2021: the lifted kernel C̄ of all queries and keys, of which landmarks Z are sampled.

    C̄ ≈ C̄[:, Z] (C̄[Z, Z] + γ I)⁻¹ C̄[Z, :], and the block of queries and keys, times V, is the result. Landmarks are
    the queries and keys of real tokens with the smallest of uniform random numbers, a sample without replacement.
    """
    length, scale = q.shape[2], q.shape[3] ** -0.25
    ranks = torch.rand(2 * length, generator=torch.Generator().manual_seed(int(landmark_seed)))
    out = torch.zeros_like(v)
    for b, real in enumerate(real_positions(valid, len(q), length)):
        if not real:
            continue
        pairs = sorted([*real, *(length + i for i in real)], key=lambda i: ranks[i].item())
        for h in range(q.shape[1]):
            both = torch.cat([q[b, h], k[b, h]]) * scale
            lifted = (-(both[:, None] - both[None]).square().sum(-1) / 2).exp()
            chosen = pairs[:num_landmarks]
            inner = lifted[chosen][:, chosen] + regularisation * torch.eye(len(chosen), dtype=q.dtype)
            approximate = lifted[:length][:, chosen] @ inner.inverse() @ lifted[chosen][:, length:]
            out[b, h] = approximate[:, real] @ v[b, h, real]
    return out
