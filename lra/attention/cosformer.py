"""cosFormer (Qin et al. 2022, arXiv 2202.08791): linear attention whose weights fall with the distance.

Letters: B examples, H heads, L positions, E dims per head.
"""

import math

import torch
from torch import Tensor

from lra.attention.base import AttentionBackend, without_padding
from lra.ops.linear_attention import linear_attention


class CosformerAttention(AttentionBackend):
    """Attention of position i to j with the weight relu(qᵢ)·relu(kⱼ) cos(π/2 · (i − j) / M), divided by their sum.

    cos(a − b) = cos a cos b + sin a sin b makes the weight a product of features of 2E dims. M is the model's longest
    length, so that the padding of a batch has no effect; in the released code M is the padded length. A query without
    any positive weight gives zeros.
    """

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        position_L = torch.arange(q_BHLE.shape[2], device=q_BHLE.device)
        q, k = (self.features_at(x, position_L) for x in (q_BHLE, k_BHLE))
        return linear_attention(q, *without_padding(valid_BL, k, v_BHLE))

    def features_at(self, x: Tensor, position_L: Tensor) -> Tensor:
        """Compute the features `[…, L, 2E]` of queries or keys `[…, L, E]` at these positions."""
        angle_L1 = (position_L.to(x.dtype) * (math.pi / 2 / self.dims.max_seq_len))[:, None]
        positive = x.relu()
        return torch.cat([positive * angle_L1.cos(), positive * angle_L1.sin()], dim=-1)
