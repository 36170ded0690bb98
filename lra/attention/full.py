"""Exact softmax attention (Vaswani et al. 2017).

Letters: B examples, H heads, L positions, E dims per head.
"""

from typing import Literal

from torch import Tensor
from torch.nn.functional import dropout

from lra.attention.base import AttentionBackend, AttentionDims
from lra.base.option_types import Fraction, checked
from lra.ops.attention_by_sequence import attention_by_sequence
from lra.ops.softmax_attention import exact_attention, masked_softmax
from lra.ops.transforms import runs_plainly


class FullAttention(AttentionBackend):
    """softmax(q kᵀ / √E) v over the real keys.

    Args:
        kernel: `fused` never stores the L × L matrix; `math` does, as in the paper's measurements.
        attention_dropout: fraction of attention weights that are dropped in training, in [0, 1).

    Raises:
        UserError: for an unknown kernel, or a dropout outside its range.
    """

    shown = ("kernel", "attention_dropout")

    @checked
    def __init__(self, dims: AttentionDims, *, kernel: Literal["fused", "math"], attention_dropout: Fraction):
        super().__init__(dims)
        self.kernel, self.attention_dropout, self.quadratic = kernel, attention_dropout, kernel == "math"

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        rate = self.attention_dropout if self.training else 0.0
        if self.kernel == "math":
            keep = None if valid_BL is None else valid_BL[:, None, None, :]
            weights = masked_softmax(q_BHLE @ k_BHLE.mT * self.dims.head_dim**-0.5, keep)
            return dropout(weights, rate) @ v_BHLE
        if q_BHLE.device.type == "cpu" and runs_plainly():
            return attention_by_sequence(q_BHLE, k_BHLE, v_BHLE, valid_BL, rate=rate)
        return exact_attention(q_BHLE, k_BHLE, v_BHLE, valid_BL, rate=rate)
