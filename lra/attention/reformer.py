"""Reformer (Kitaev et al. 2020, arXiv 2001.04451): attention within chunks of positions that hash alike.

Letters: B examples, H heads, L positions, E dims per head, N hashes, K chunks, C positions per chunk.
"""

from __future__ import annotations

from itertools import groupby

import torch
from torch import Tensor
from torch.nn.functional import pad

from lra.attention.base import AttentionBackend, AttentionDims
from lra.ops.hashed_chunks import attend_chunks
from lra.ops.hashing import bucket_factors, draw_rotations, hash_buckets, hash_order
from lra.packed.packing import Packing
from lra.types import UserError

CHOICES = {
    "biases": ("unused", "used"),
    "look_back": ("across_hashes", "within_hash"),
    "rotations": ("each_call", "stored_for_evaluation"),
}


class ReformerAttention(AttentionBackend):
    """LSH attention with shared queries and keys: the contract's keys are not used.

    Each hash sorts the positions by bucket, padding last, and cuts them into chunks; a chunk attends to itself and to
    the one before it. Several hashes are weighted by their normalisers. A length that is no multiple of the chunk is
    padded to one. The buckets are those of the model's longest sequence, whatever the length of a batch.

    Training draws new rotations at each call from torch's generator. Evaluation draws from a seed that is kept with the
    weights, so that it repeats, in a restored model too.

    Args:
        dims: of the encoder.
        num_hashes: N, at least 1.
        chunk_length: C, at least 1.
        biases: `unused`: queries, keys and values are projected without biases (the released code), or `used`.
        look_back: the first chunk of a hash sees the last one of the hash before, padding included (`across_hashes`,
            the released code), or the last one of its own hash's real tokens (`within_hash`).
        rotations: evaluation draws at `each_call`, call n of a pass always the same ones; `eval()` begins a pass. Or
            it has one draw, `stored_for_evaluation`.

    Raises:
        UserError: for an unknown word, or a number outside of its range.
    """

    rotation_seed: Tensor
    calls = 0  # of this pass of evaluation

    def __init__(
        self,
        dims: AttentionDims,
        *,
        num_hashes: int,
        chunk_length: int,
        biases: str,
        look_back: str,
        rotations: str,
    ):
        super().__init__(dims)
        for name, count in (("num_hashes", num_hashes), ("chunk_length", chunk_length)):
            if count < 1:
                raise UserError(f"attention.{name}={count}, but at least 1 is needed; the paper's table has 2 and 64")
        for name, value in {"biases": biases, "look_back": look_back, "rotations": rotations}.items():
            if value not in CHOICES[name]:
                raise UserError(f"attention.{name}={value} is not known; choose one of {', '.join(CHOICES[name])}")
        self.num_hashes, self.chunk_length = num_hashes, chunk_length
        self.look_back, self.rotations, self.biased = look_back, rotations, biases == "used"
        self.factors = bucket_factors(dims.max_seq_len, chunk_length)
        self.register_buffer("rotation_seed", torch.randint(2**62, ()))

    @property
    def batch_wide(self) -> bool:
        """Whether each call draws rotations of its own for all examples that it gets, in evaluation too."""
        return self.rotations == "each_call"

    def train(self, mode: bool = True) -> ReformerAttention:
        """Set the mode; a pass of evaluation begins at its first rotations."""
        self.calls = 0
        return super().train(mode)

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        batch, _, length, _ = q_BHLE.shape
        if valid_BL is None:
            valid_BL = torch.ones(batch, length, dtype=torch.bool, device=q_BHLE.device)
        missing = -length % self.chunk_length
        if missing:
            q_BHLE, v_BHLE = pad(q_BHLE, (0, 0, 0, missing)), pad(v_BHLE, (0, 0, 0, missing))
            valid_BL = pad(valid_BL, (0, missing))
        chunks = (length + missing) // self.chunk_length
        return self._attend(q_BHLE, v_BHLE, valid_BL, self._rotations(q_BHLE), chunks)[:, :, :length]

    def forward_packed(self, qkv_PTD: Tensor, packing: Packing) -> Tensor:
        """The same for the real tokens alone: sequences of as many chunks of tokens together, without their padding."""
        rotations_HENG = self._rotations(qkv_PTD)
        total = self._chunks(packing.length)
        groups = [(chunks, list(counts)) for chunks, counts in groupby(packing.counts, key=self._chunks)]
        parts = []
        for (chunks, counts), part_PTD in zip(groups, qkv_PTD.split([sum(c) for _, c in groups], dim=1), strict=True):
            length = chunks * self.chunk_length
            valid_BL = torch.arange(length) < torch.tensor(counts)[:, None]
            group = Packing(valid_BL, batch=len(counts), length=length)
            heads = group.unpack(part_PTD).unflatten(3, (self.dims.num_heads, -1))
            q_BHLE, _, v_BHLE = heads.transpose(2, 3).unbind(0)
            out_BHLE = self._attend(q_BHLE, v_BHLE, valid_BL, rotations_HENG, total)
            parts.append(group.pack(out_BHLE.transpose(1, 2).flatten(2)))
        return torch.cat(parts)

    def _chunks(self, length: int) -> int:
        """Chunks that hold so many positions, at least one."""
        return max(-(-length // self.chunk_length), 1)

    def _rotations(self, like: Tensor) -> Tensor:
        return (self._draw(None) if self.training else self._draw_for_evaluation()).to(like)

    def _attend(self, q_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor, rotations_HENG: Tensor, total: int) -> Tensor:
        with torch.no_grad():
            order_BHNL = hash_order(hash_buckets(q_BHLE, rotations_HENG, self.factors, valid_BL))
        chunk, look_back = self.chunk_length, self.look_back
        return attend_chunks(q_BHLE, v_BHLE, valid_BL, order_BHNL, chunk=chunk, look_back=look_back, total=total)

    def _draw(self, generator: torch.Generator | None) -> Tensor:
        return draw_rotations(self.dims.num_heads, self.dims.head_dim, self.num_hashes, self.factors, generator)

    @torch.compiler.disable
    def _draw_for_evaluation(self) -> Tensor:
        seed = int(self.rotation_seed) + (self.calls if self.rotations == "each_call" else 0)
        self.calls += 1
        return self._draw(torch.Generator().manual_seed(seed))

    def extra_repr(self) -> str:
        """Say the knobs in a printed model."""
        return f"num_hashes={self.num_hashes}, chunk_length={self.chunk_length}, look_back={self.look_back}"
