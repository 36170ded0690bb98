"""Reformer (Kitaev et al. 2020, arXiv 2001.04451): attention within chunks of positions that hash alike.

Letters: B examples, H heads, L positions, E dims per head, N hashes, K chunks, C positions per chunk.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import normalize, pad

from lra.attention.base import AttentionBackend, AttentionDims
from lra.ops.hashing import draw_rotations, hash_buckets, hash_order
from lra.types import UserError

# Added to scores. A position attends to itself only where it finds no other key, and to padding never while a real
# key is there; both are finite, so that a row of padding stays finite.
SELF, PADDING = -1e5, -1e9


class ReformerAttention(AttentionBackend):
    """LSH attention with shared queries and keys: the contract's keys are not used.

    Each hash sorts the positions by bucket and cuts them into chunks; a chunk attends to itself and to the one before
    it (the first to the last). Several hashes are weighted by their normalisers. One chunk is plain attention.

    Training draws new rotations at each call from torch's generator. Evaluation uses one draw, made at the start and
    kept with the weights, so that it repeats, in a restored model too.

    Args:
        dims: of the encoder.
        num_hashes: N, at least 1.
        chunk_length: C, at least 1.
    """

    rotations: Tensor

    def __init__(self, dims: AttentionDims, *, num_hashes: int, chunk_length: int):
        super().__init__(dims)
        for name, count in (("num_hashes", num_hashes), ("chunk_length", chunk_length)):
            if count < 1:
                raise UserError(f"attention.{name}={count}, but at least 1 is needed; the paper's table has 2 and 64")
        self.num_hashes, self.chunk_length = num_hashes, chunk_length
        self.register_buffer("rotations", self._draw(self.num_buckets(dims.max_seq_len)))

    def num_buckets(self, length: int) -> int:
        """G for a sequence: twice its chunks, rounded down to a power of two."""
        chunks = -(-length // self.chunk_length)
        return 1 << ((2 * chunks).bit_length() - 1)

    def _draw(self, buckets: int) -> Tensor:
        return draw_rotations(self.dims.num_heads, self.dims.head_dim, self.num_hashes, buckets)

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        batch, _, length, _ = q_BHLE.shape
        if valid_BL is None:
            valid_BL = torch.ones(batch, length, dtype=torch.bool, device=q_BHLE.device)
        missing = -length % self.chunk_length if length > self.chunk_length else 0
        if missing:
            q_BHLE, v_BHLE = pad(q_BHLE, (0, 0, 0, missing)), pad(v_BHLE, (0, 0, 0, missing))
            valid_BL = pad(valid_BL, (0, missing))
        buckets = self.num_buckets(length)
        drawn = self._draw(buckets) if self.training else self.rotations[..., : buckets // 2]
        with torch.no_grad():
            order_BHNL = hash_order(hash_buckets(q_BHLE, drawn.to(q_BHLE), valid_BL))
        return self._attend_sorted(q_BHLE, v_BHLE, valid_BL, order_BHNL)[:, :, :length]

    def _attend_sorted(self, q_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor, order_BHNL: Tensor) -> Tensor:
        """Attend within the chunks of each hash's order, put back in place, weigh the hashes."""
        chunk = min(self.chunk_length, q_BHLE.shape[2])
        q = _take(q_BHLE, order_BHNL).unflatten(3, (-1, chunk))
        v = _before_and_own(_take(v_BHLE, order_BHNL).unflatten(3, (-1, chunk)))
        k = _before_and_own(normalize(q, dim=-1))
        position = order_BHNL.unflatten(3, (-1, chunk))[..., None]
        valid = valid_BL[:, None, None, :, None].expand(*order_BHNL.shape, 1).gather(3, order_BHNL[..., None])
        key_position = _before_and_own(position)[..., 0][..., None, :]
        key_valid = _before_and_own(valid.unflatten(3, (-1, chunk)))[..., 0][..., None, :]
        scores = (q @ k.mT).masked_fill(position == key_position, SELF).masked_fill(~key_valid, PADDING)
        normaliser = scores.logsumexp(-1, keepdim=True)
        out = (torch.exp(scores - normaliser) @ v).flatten(3, 4)
        place = order_BHNL.argsort(-1)[..., None]
        out = out.gather(3, place.expand_as(out))
        weights = normaliser.flatten(3, 4).gather(3, place).softmax(2)
        return (out * weights).sum(2)

    def extra_repr(self) -> str:
        """Say the knobs in a printed model."""
        return f"num_hashes={self.num_hashes}, chunk_length={self.chunk_length}"


def _take(x_BHLE: Tensor, order_BHNL: Tensor) -> Tensor:
    """Rows of each hash's order `[B, H, N, L, E]`."""
    wide = x_BHLE[:, :, None].expand(-1, -1, order_BHNL.shape[2], -1, -1)
    return wide.gather(3, order_BHNL[..., None].expand(*order_BHNL.shape, x_BHLE.shape[3]))


def _before_and_own(x_BHNKCE: Tensor) -> Tensor:
    """Each chunk with the one before it, `[B, H, N, K, 2C, E]`; a lone chunk stays as it is."""
    if x_BHNKCE.shape[3] == 1:
        return x_BHNKCE
    return torch.cat([x_BHNKCE.roll(1, dims=3), x_BHNKCE], dim=4)
