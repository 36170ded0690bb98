"""Longformer (Beltagy et al. 2020, arXiv 2004.05150): a sliding window and a few global tokens.

Letters: B examples, H heads, L positions, E dims per head, C = window / 2 positions per block, K blocks, W keys of a
block, G global tokens.
"""

import torch
from torch import Tensor

from lra.attention.base import AttentionBackend, AttentionDims, real_positions
from lra.base.option_types import AtLeastTwo, CountOrZero, checked
from lra.ops.softmax_attention import (
    attend_blocks,
    block_key_mask,
    block_windows,
    exact_attention,
    join_blocks,
    split_blocks,
    take_blocks,
)
from lra.types import UserError


class LongformerAttention(AttentionBackend):
    """Exact attention to the real positions at most window / 2 away, and to and from the global tokens.

    The global tokens are the first real tokens of each sequence. The paper gives global attention projections of its
    own. A backend owns no projections, so here local and global attention share those of the encoder, as in the
    released Nyströmformer code. With shared projections the layer of the package transformers is the same function.

    Args:
        window: positions on both sides together, even, at least 2; a position also sees itself.
        global_tokens: G, at least 0.

    Raises:
        UserError: for a window or a number of global tokens outside its range.
    """

    shown = ("window", "global_tokens")

    @checked
    def __init__(self, dims: AttentionDims, *, window: AtLeastTwo, global_tokens: CountOrZero):
        super().__init__(dims)
        if window % 2:
            raise UserError(f"attention.window={window} is not an even number of at least 2; type attention.window=256")
        self.window, self.global_tokens = window, global_tokens

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        length = q_BHLE.shape[2]
        valid_BL = real_positions(valid_BL, q_BHLE)
        global_BL = valid_BL & (valid_BL.cumsum(1) <= self.global_tokens)
        index_BG = global_BL.int().argsort(dim=1, descending=True, stable=True)[:, : self.global_tokens]
        index_BHGE = index_BG[:, None, :, None].expand(-1, q_BHLE.shape[1], -1, q_BHLE.shape[3])
        q_BHGE, k_BHGE, v_BHGE = (x.gather(2, index_BHGE) for x in (q_BHLE, k_BHLE, v_BHLE))

        half = self.window // 2
        q = split_blocks(q_BHLE, half)
        seen = block_windows(q.shape[1], 1, q.device)
        near = block_key_mask(valid_BL & ~global_BL, seen, half)[:, :, :, None] & self._band(q.device)
        among_first = global_BL.gather(1, index_BG)[:, None, None, None].expand(*near.shape[:4], -1)
        k, v = (
            torch.cat([take_blocks(x, seen, half), first[:, None].expand(-1, q.shape[1], -1, -1, -1)], 3)
            for x, first in ((k_BHLE, k_BHGE), (v_BHLE, v_BHGE))
        )
        out_BHLE = join_blocks(attend_blocks(q, k, v, torch.cat([near, among_first], 4)), length)
        return out_BHLE.scatter(2, index_BHGE, exact_attention(q_BHGE, k_BHLE, v_BHLE, valid_BL))

    def _band(self, device: torch.device) -> Tensor:
        """Tell which of the keys in a block and its two neighbours are in the window of each query, `[C, 3C]`."""
        half = self.window // 2
        behind_CW = torch.arange(3 * half, device=device) - torch.arange(half, device=device)[:, None]
        return (behind_CW >= 0) & (behind_CW <= self.window)
