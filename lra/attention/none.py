"""No mixing at all: what the rest of the encoder can do by itself.

Letters: B examples, H heads, L positions, E dims per head, T tokens.
"""

from __future__ import annotations

from torch import Tensor

from lra.attention.base import AttentionBackend
from lra.packed.packing import Packing


class NoAttention(AttentionBackend):
    """Every position keeps its own value: a bag of embedded tokens (`none` of Xiong et al. 2021, released code).

    Queries and keys are computed and counted, as for any other backend, and never used.
    """

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Give the values back; see the base class."""
        return v_BHLE

    def forward_packed(self, qkv_PTD: Tensor, packing: Packing) -> Tensor:
        """The same for real tokens alone."""
        return qkv_PTD[2]
