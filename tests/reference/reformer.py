"""The slow twin of Reformer's attention (Kitaev et al. 2020, arXiv 2001.04451): loops over positions and chunks.

`look_back="across_hashes"` is `LSHSelfAttention` of transformers 3.x, which the released code of Nyströmformer calls.
Compared with that of 3.3.1 and of 4.40.2 in float64 with the same rotations: 512 positions, 0, 10, 63, 64 and 200 of
them padded, and holes, 1, 2 and 4 hashes, training and evaluation; sequences shorter than a chunk; hashes of two
rotations. Outputs at real tokens differ by at most 1.2e-15, gradients by 1e-15 of the largest.

Letters: H heads, E dims per head, N hashes, K random directions of a hash, C positions of a chunk.
"""

import itertools
import math

import torch
from torch import Tensor

SELF_SCORE, MASKED_SCORE = -1e5, -1e9


def bucket_factors(length: int, chunk: int) -> list[int]:
    """Buckets of one hash for sequences of `length`: one number, or two whose product is the count."""
    exponent = math.floor(math.log2(max(2 * (length // chunk), 2)))
    if 2**exponent <= 2 * max(math.floor(math.sqrt(length // chunk)), chunk):
        return [2**exponent]
    return [2 ** (exponent // 2), 2 ** (exponent - exponent // 2)]


def bucket_of(vectors_LE: Tensor, directions_EK: Tensor, factors: list[int]) -> list[int]:
    """Buckets of all positions: for each factor the nearest of its directions and of their opposites."""
    numbers, worth, first = torch.zeros(len(vectors_LE), dtype=torch.long), 1, 0
    for factor in factors:
        along = vectors_LE @ directions_EK[:, first : first + factor // 2]
        numbers += worth * torch.cat([along, -along], 1).argmax(1)
        worth, first = worth * factor, first + factor // 2
    return numbers.tolist()


def attend(q: Tensor, key: Tensor, v: Tensor, real: Tensor, own: list[int], seen: list[int]) -> tuple[Tensor, Tensor]:
    """What the positions `own` get from the positions `seen`, and the log-sum-exps of their scores."""
    scores = q[own] @ key[seen].T
    scores = torch.where(real[seen], scores, MASKED_SCORE)
    scores = torch.where(torch.tensor(own)[:, None] == torch.tensor(seen), SELF_SCORE, scores)
    totals = scores.logsumexp(1)
    return (scores - totals[:, None]).exp() @ v[seen], totals


def one_head(
    q: Tensor, v: Tensor, real: Tensor, rotations_ENK: Tensor, chunk: int, look_back: str, model_length: int
) -> Tensor:
    """One head of one example: `q`, `v` and the result are `[L, E]`."""
    length, width = q.shape
    key = q / (q.square().mean(-1, keepdim=True) + 1e-6).sqrt() / math.sqrt(width)
    factors = bucket_factors(model_length, chunk)
    orders = []
    for n in range(rotations_ENK.shape[1]):
        buckets = bucket_of(q.detach(), rotations_ENK[:, n], factors)
        buckets = [buckets[p] if real[p] else math.prod(factors) for p in range(length)]  # padding has one of its own
        orders.append(sorted(range(length), key=buckets.__getitem__))
    if look_back == "within_hash":  # for each hash a ring of its real tokens alone
        orders = [[p for p in order if real[p]] for order in orders]
    laid_out = list(itertools.chain(*orders))
    rings = [laid_out] if look_back == "across_hashes" else orders

    if not laid_out:
        return torch.zeros_like(v)
    values, totals = [], []
    for ring in rings:
        chunks = [ring[i : i + chunk] for i in range(0, len(ring), chunk)]
        for i, own in enumerate(chunks):
            seen = own if len(chunks) == 1 else chunks[i - 1] + own
            value, total = attend(q, key, v, real, own, seen)
            values.append(value)
            totals.append(total)
    line = torch.tensor(laid_out)
    places_LN = line.argsort(stable=True).view(-1, len(orders))  # where each position stands, once in each hash
    shares_LN = torch.cat(totals)[places_LN].softmax(1)
    result = torch.zeros_like(v)
    result[line.unique()] = (shares_LN[..., None] * torch.cat(values)[places_LN]).sum(1)
    return result


def lsh_attention(
    q: Tensor,
    v: Tensor,
    valid: Tensor | None,
    *,
    rotations_HENK: Tensor,
    chunk_length: int,
    look_back: str,
    model_length: int,
) -> Tensor:
    """LSH attention with shared queries and keys: `q`, `v` are `[B, H, L, E]`, `valid` is `[B, L]` or None."""
    examples = []
    for b in range(len(q)):
        real = torch.ones(q.shape[2], dtype=torch.bool) if valid is None else valid[b]
        heads = [
            one_head(q[b, h], v[b, h], real, rotations_HENK[h], chunk_length, look_back, model_length)
            for h in range(q.shape[1])
        ]
        examples.append(torch.stack(heads))
    return torch.stack(examples)
