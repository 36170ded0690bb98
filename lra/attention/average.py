"""Average of the values: shows what mixing without queries and keys achieves, as a floor for attentions.

Letters: B examples, H heads, L positions, E dims per head, T tokens.
"""

from torch import Tensor

from lra.attention.base import AttentionBackend
from lra.ops.packing import Packing


class AverageAttention(AttentionBackend):
    """Gives every position the mean of the values of the real positions.

    Queries and keys are computed, and their parameters counted, as for any other backend, but they are not used.
    """

    uses_queries = False

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Average the values; see the base class."""
        if valid_BL is None:
            return v_BHLE.mean(2, keepdim=True).expand_as(v_BHLE)
        real_B1L1 = valid_BL[:, None, :, None]
        count_B111 = valid_BL.sum(1).clamp(min=1)[:, None, None, None]
        return ((v_BHLE * real_B1L1).sum(2, keepdim=True) / count_B111).expand_as(v_BHLE)

    def forward_packed(self, qkv_PTD: Tensor, packing: Packing) -> Tensor:
        """Average the values of each sequence of packed tokens; see the base class."""
        v_TD = qkv_PTD[2]
        sums_BD = v_TD.new_zeros(packing.batch, v_TD.shape[1]).index_add(0, packing.sequence_T, v_TD)
        means_BD: Tensor = sums_BD / packing.counts_B.clamp(min=1)[:, None]
        return means_BD.index_select(0, packing.sequence_T)
