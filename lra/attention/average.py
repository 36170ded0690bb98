"""Average of the values: shows what mixing without queries and keys achieves, as a floor for attentions.

Letters: B examples, H heads, L positions, E dims per head.
"""

from torch import Tensor

from lra.attention.base import AttentionBackend


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
