"""BigBird (Zaheer et al. 2020, arXiv 2007.14062): blocks that see a window, a few global blocks and a few random ones.

Letters: B examples, H heads, L positions, E dims per head, C positions per block, K blocks, X blocks of the longest
sequence, R random blocks, S blocks that a block sees.
"""

import torch
from torch import Tensor

from lra.attention.base import AttentionBackend, AttentionDims, real_positions
from lra.base.option_types import Count, CountOrZero, checked
from lra.ops.softmax_attention import attend_seen_blocks, block_windows, exact_attention, join_blocks, split_blocks
from lra.types import UserError


class BigbirdAttention(AttentionBackend):
    """Exact attention of each block to its window, to the global blocks, and to random blocks of its own.

    The global blocks are the first ones (the paper's internal construction); they see all and are seen by all. The last
    block is no global one, as it is in the released code, because its place would depend on a batch's padding.

    The random blocks of each head are drawn once, among the blocks of the longest sequence that are neither global nor
    in the window, and saved with the weights. Those after the end of a shorter sequence hold padding.

    Args:
        block_length: C, at least 1.
        window_blocks: blocks of the window, the own one in the middle; odd.
        global_blocks: number of global blocks, at least 0.
        random_blocks: R, at least 0.

    Raises:
        UserError: for a number outside its range.
    """

    drawn_blocks: Tensor
    shown = ("block_length", "window_blocks", "global_blocks", "random_blocks")

    @checked
    def __init__(
        self,
        dims: AttentionDims,
        *,
        block_length: Count,
        window_blocks: Count,
        global_blocks: CountOrZero,
        random_blocks: CountOrZero,
    ):
        super().__init__(dims)
        if window_blocks % 2 == 0:
            line = f"attention.window_blocks={window_blocks} is not an odd number; type attention.window_blocks=3"
            raise UserError(line)
        self.block_length, self.window_blocks, self.global_blocks = block_length, window_blocks, global_blocks
        self.reach = window_blocks // 2
        self.register_buffer("drawn_blocks", self._draw(-(-dims.max_seq_len // block_length), random_blocks))
        self.random_blocks = self.drawn_blocks.shape[2]

    def _draw(self, blocks: int, count: int) -> Tensor:
        """Draw the random blocks that each block sees, `[X, H, R]`, all different; −1 where there are too few."""
        block_X = torch.arange(blocks)
        seen_XX = ((block_X[:, None] - block_X).abs() <= self.reach) | (block_X < self.global_blocks)
        numbers = torch.rand(blocks, self.dims.num_heads, blocks).masked_fill(seen_XX[:, None], 1)  # the others: < 1
        smallest, drawn_XHR = numbers.topk(min(count, blocks), largest=False)
        return drawn_XHR.masked_fill(smallest == 1, -1)

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        length = q_BHLE.shape[2]
        assert length <= self.dims.max_seq_len, f"length {length} > {self.dims.max_seq_len}"
        valid_BL = real_positions(valid_BL, q_BHLE)
        first = self.global_blocks
        out_BHLE = exact_attention(q_BHLE[:, :, : first * self.block_length], k_BHLE, v_BHLE, valid_BL)
        q = split_blocks(q_BHLE, self.block_length)
        seen = self._seen(q.shape[1])[first:]
        rest = attend_seen_blocks(q[:, first:], k_BHLE, v_BHLE, valid_BL, seen, self.block_length)
        return torch.cat([out_BHLE, join_blocks(rest, length - out_BHLE.shape[2])], 2)

    def _seen(self, blocks: int) -> Tensor:
        """List the blocks that each of K blocks sees, none twice, `[K, H, S]`; a number below 0 stands for none."""
        drawn_KHR = self.drawn_blocks[:blocks]
        window = block_windows(blocks, self.reach, drawn_KHR.device)
        window = window.masked_fill(window < self.global_blocks, -1)
        first = torch.arange(self.global_blocks, device=drawn_KHR.device)
        seen_KHS = torch.cat([x.expand(*drawn_KHR.shape[:2], -1) for x in (first, window, drawn_KHR)], 2)
        return seen_KHS.masked_fill(seen_KHS >= blocks, -1)
