"""No attention: shows what the rest of the encoder can learn without mixing positions.

Letters: B examples, H heads, L positions, E dims per head.
"""

from torch import Tensor

from lra.attention.base import AttentionBackend


class NoAttention(AttentionBackend):
    """Returns the value of each position unchanged, as `none` does in the released code of Xiong et al. (2021).

    Queries and keys are computed, and their parameters counted, as for any other backend, but they are not used.
    """

    uses_queries = False

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Return the values; see the base class."""
        return v_BHLE
