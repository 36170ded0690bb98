"""Reformer (Kitaev et al. 2020, arXiv 2001.04451): attention within chunks of positions with similar hashes.

Letters: B examples, H heads, L positions, E dims per head, N hashes, K chunks, C positions per chunk.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn.functional import pad

from lra.attention.base import AttentionBackend, AttentionDims, real_positions
from lra.base.option_types import Count, checked
from lra.base.protocol import ReformerBiases, ReformerLookBack, ReformerRotations
from lra.ops.hashed_chunks import attend_chunks, bucket_factors, hash_order
from lra.ops.transforms import seeded


class ReformerAttention(AttentionBackend):
    """Attention with locality-sensitive hashing (LSH) and shared queries and keys; the keys it is given are not used.

    Each hash sorts the positions by bucket, padding last, and cuts them into chunks. A chunk attends to itself and to
    the chunk before it. The outputs of several hashes are weighted by their softmax normalisers. A length that is not a
    multiple of the chunk length is padded. The number of buckets follows from the model's longest sequence.

    Two terms of the paper's appendix A are left out with every protocol, as in transformers: a key that several hashes
    find counts once for each of them, and a query also attends to keys of other buckets in its chunks.

    Training draws new random rotations at each call from the device's generator. Evaluation draws them from a seed that
    is saved with the weights, so that an evaluation can be repeated, also with a restored model and on another device.

    Args:
        num_hashes: N, at least 1.
        chunk_length: C, at least 1.
        biases: whether the biases of the projections to queries, keys and values are `unused` (the released code) or
            `used`.
        look_back: the chunk before the first chunk of a hash. `across_hashes`: the last chunk of the previous hash,
            padding included (the released code). `within_hash`: the same hash's last chunk with a real token.
        rotations: the rotations in evaluation. `each_call`: new ones at each call; the n-th call after `eval()` always
            has the same ones. `stored_for_evaluation`: the same ones at all calls.

    Raises:
        UserError: for an unknown choice, or a number outside its range.
    """

    rotation_seed: Tensor
    shown = ("num_hashes", "chunk_length", "look_back")
    calls = 0  # number of calls in this evaluation pass
    draws_on_host = True  # in evaluation, so that every device has the same rotations

    @checked
    def __init__(
        self,
        dims: AttentionDims,
        *,
        num_hashes: Count,
        chunk_length: Count,
        biases: ReformerBiases,
        look_back: ReformerLookBack,
        rotations: ReformerRotations,
    ):
        super().__init__(dims)
        self.num_hashes, self.chunk_length = num_hashes, chunk_length
        self.look_back, self.rotations, self.biased = look_back, rotations, biases == "used"
        self.batch_wide = rotations == "each_call"  # new ones for all examples, in evaluation too
        self.factors = bucket_factors(dims.max_seq_len, chunk_length)
        self.register_buffer("rotation_seed", torch.randint(2**62, ()))

    def train(self, mode: bool = True) -> ReformerAttention:
        """Set training or evaluation mode; an evaluation pass then starts with its first rotations again."""
        self.calls = 0
        return super().train(mode)

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        length, valid_BL = q_BHLE.shape[2], real_positions(valid_BL, q_BHLE)
        missing = -length % self.chunk_length
        if missing:
            q_BHLE, v_BHLE = pad(q_BHLE, (0, 0, 0, missing)), pad(v_BHLE, (0, 0, 0, missing))
            valid_BL = pad(valid_BL, (0, missing))
        order_BHNL = hash_order(q_BHLE, self.draw_rotations(q_BHLE), self.factors, valid_BL)
        chunk, look_back = self.chunk_length, self.look_back
        out_BHLE = attend_chunks(q_BHLE, v_BHLE, valid_BL, order_BHNL, chunk=chunk, look_back=look_back)
        return out_BHLE[:, :, :length]

    def draw_rotations(self, like: Tensor) -> Tensor:
        """Draw Gaussian rotations `[H, E, N, G]`, G half the sum of the factors."""
        size = (self.dims.num_heads, self.dims.head_dim, self.num_hashes, sum(self.factors) // 2)
        drawn = torch.randn(size, device=like.device) if self.training else self._draw_for_evaluation(size)
        return drawn.to(like)

    @torch.compiler.disable
    def _draw_for_evaluation(self, size: tuple[int, ...]) -> Tensor:
        later = self.calls if self.rotations == "each_call" else 0
        self.calls += 1
        drawn: Tensor = seeded(torch.randn, size, self.rotation_seed, later=later)
        return drawn
