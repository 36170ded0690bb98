"""Exact softmax attention (Vaswani et al. 2017).

Letters: B examples, H heads, L positions, E dims per head.
"""

from __future__ import annotations

from torch import Tensor
from torch.nn.functional import dropout, scaled_dot_product_attention

from lra.attention.base import AttentionBackend, AttentionDims
from lra.ops.blocked_softmax import blocked_attention
from lra.ops.softmax import attendable, masked_softmax
from lra.types import UserError

KERNELS = ("fused", "math")


class FullAttention(AttentionBackend):
    """softmax(q kᵀ / √E) v over the real keys.

    Args:
        dims: of the encoder.
        kernel: `fused` never holds the L × L matrix; `math` does, as the paper's measurements did.
        attention_dropout: share of weights dropped in training, in [0, 1).
    """

    def __init__(self, dims: AttentionDims, *, kernel: str, attention_dropout: float):
        super().__init__(dims)
        if kernel not in KERNELS:
            raise UserError(f"attention.kernel={kernel} is not known; type attention.kernel=fused (or math)")
        if not 0 <= attention_dropout < 1:
            raise UserError(
                f"attention.attention_dropout={attention_dropout} is not in [0, 1);"
                " type attention.attention_dropout=0.1"
            )
        self.kernel, self.attention_dropout = kernel, attention_dropout

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        rate = self.attention_dropout if self.training else 0.0
        if self.kernel == "math":
            keep = None if valid_BL is None else valid_BL[:, None, None, :]
            weights = masked_softmax(q_BHLE @ k_BHLE.mT * self.dims.head_dim**-0.5, keep)
            return dropout(weights, rate) @ v_BHLE
        keep = attendable(valid_BL)
        if rate > 0 and q_BHLE.device.type == "cpu":
            return blocked_attention(q_BHLE, k_BHLE, v_BHLE, None if keep is None else keep[:, 0, 0], dropout=rate)
        return scaled_dot_product_attention(q_BHLE, k_BHLE, v_BHLE, attn_mask=keep, dropout_p=rate)

    def extra_repr(self) -> str:
        """Say the kernel in a printed model."""
        return f"kernel={self.kernel}, attention_dropout={self.attention_dropout}"
