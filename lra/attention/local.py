"""Local attention (Tay et al. 2021, arXiv 2011.04006, the benchmark's baseline): attention within blocks.

Letters: B examples, H heads, L positions, E dims per head, C positions per block.
"""

from torch import Tensor

from lra.attention.base import AttentionBackend, AttentionDims, real_positions
from lra.base.option_types import Count, CountOrZero, checked
from lra.ops.softmax_attention import attend_seen_blocks, block_windows, join_blocks, split_blocks


class LocalAttention(AttentionBackend):
    """Exact attention to the real positions of the own block and of `neighbour_blocks` blocks on each side.

    The blocks are of neighbouring positions, as the paper says. The benchmark's released code reshapes the sequence so
    that positions `L / C` apart share a block; this is not repeated.

    Args:
        block_length: C, at least 1.
        neighbour_blocks: blocks on each side that a block sees, at least 0.

    Raises:
        UserError: for a number outside its range.
    """

    shown = ("block_length", "neighbour_blocks")

    @checked
    def __init__(self, dims: AttentionDims, *, block_length: Count, neighbour_blocks: CountOrZero):
        super().__init__(dims)
        self.block_length, self.neighbour_blocks = block_length, neighbour_blocks

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        valid_BL = real_positions(valid_BL, q_BHLE)
        q = split_blocks(q_BHLE, self.block_length)
        seen = block_windows(q.shape[1], self.neighbour_blocks, q.device)
        out_BKHCE = attend_seen_blocks(q, k_BHLE, v_BHLE, valid_BL, seen, self.block_length)
        return join_blocks(out_BKHCE, q_BHLE.shape[2])
