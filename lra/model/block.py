"""One pre-LayerNorm encoder block: self-attention, then a feed-forward network.

Letters: B sequences, L positions, D model width, H heads, E dims per head.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import linear

from lra.attention.base import AttentionBackend
from lra.ops.dropout import DropoutMasks
from lra.ops.fused_feed_forward import feed_forward_residual
from lra.ops.fused_linear import norm_linear, project_residual
from lra.ops.packing import Packing


class SelfAttention(nn.Module):
    """Projections around an attention backend.

    One product makes queries, keys and values: the same numbers as three biased Linear layers, whose initialisation
    depends on the number of inputs alone. The backend computes in float32 at least, whatever the precision around it.
    """

    def __init__(self, backend: AttentionBackend, *, width: int, num_heads: int, head_dim: int, dropout: float):
        super().__init__()
        self.num_heads, self.head_dim = num_heads, head_dim
        self.qkv = nn.Linear(width, 3 * num_heads * head_dim)
        self.backend = backend
        self.out = nn.Linear(num_heads * head_dim, width)
        self.dropout = nn.Dropout(dropout)

    def qkv_bias(self) -> Tensor:
        """What is added to queries, keys and values; zeros that still give a gradient, of zeros, to an unused bias.

        A parameter without a gradient would stop a parallel run.
        """
        return self.qkv.bias if self.backend.biased else 0 * self.qkv.bias

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend within each sequence; `[B, L, D]` to `[B, L, D]`."""
        batch, length, _ = x_BLD.shape
        qkv = linear(x_BLD, self.qkv.weight, self.qkv_bias()).view(batch, length, 3, self.num_heads, self.head_dim)
        q_BHLE, k_BHLE, v_BHLE = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        with torch.autocast(x_BLD.device.type, enabled=False):
            least = torch.promote_types(q_BHLE.dtype, torch.float32)
            mixed_BHLE = self.backend(q_BHLE.to(least), k_BHLE.to(least), v_BHLE.to(least), valid_BL)
        mixed_BLD = mixed_BHLE.transpose(1, 2).reshape(batch, length, self.num_heads * self.head_dim)
        out_BLD: Tensor = self.dropout(self.out(mixed_BLD.to(x_BLD.dtype)))
        return out_BLD


class FeedForward(nn.Sequential):
    """Linear, GELU, Linear, with dropout after the activation and at the end."""

    def __init__(self, *, width: int, hidden: int, dropout: float):
        super().__init__(
            nn.Linear(width, hidden),
            nn.GELU(),
            nn.Dropout(dropout),
            nn.Linear(hidden, width),
            nn.Dropout(dropout),
        )


class EncoderBlock(nn.Module):
    """`x + attention(norm(x))`, then `x + feed_forward(norm(x))`."""

    def __init__(
        self,
        backend: AttentionBackend,
        *,
        width: int,
        num_heads: int,
        head_dim: int,
        feed_forward: int,
        dropout: float,
    ):
        super().__init__()
        self.attention_norm = nn.LayerNorm(width)
        self.attention = SelfAttention(backend, width=width, num_heads=num_heads, head_dim=head_dim, dropout=dropout)
        self.feed_forward_norm = nn.LayerNorm(width)
        self.feed_forward = FeedForward(width=width, hidden=feed_forward, dropout=dropout)

    def forward(self, x_BLD: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Transform `[B, L, D]`; `valid_BL` as in the attention contract."""
        x_BLD = x_BLD + self.attention(self.attention_norm(x_BLD), valid_BL)
        x_BLD = x_BLD + self.feed_forward(self.feed_forward_norm(x_BLD))
        return x_BLD

    def forward_packed(self, x_TD: Tensor, packing: Packing, masks: DropoutMasks | None) -> Tensor:
        """Transform the real tokens alone, `[T, D]`."""
        norm, attention, qkv = self.attention_norm, self.attention, self.attention.qkv
        qkv_PTD = norm_linear(x_TD, norm.weight, norm.bias, qkv.weight, attention.qkv_bias(), planes=3)
        mixed_TD = attention.backend.forward_packed(qkv_PTD, packing)
        x_TD = project_residual(x_TD, mixed_TD, attention.out.weight, attention.out.bias, masks)
        norm, up, down = self.feed_forward_norm, self.feed_forward[0], self.feed_forward[3]
        assert isinstance(up, nn.Linear) and isinstance(down, nn.Linear)  # noqa: PT018 - one fact
        return feed_forward_residual(x_TD, norm.weight, norm.bias, up.weight, up.bias, down.weight, down.bias, masks)
