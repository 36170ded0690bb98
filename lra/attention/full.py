"""Exact softmax attention (Vaswani et al. 2017).

Letters: B examples, H heads, L positions, E dims per head.
"""

from typing import Literal

import torch
from torch import Tensor
from torch.nn.functional import dropout, scaled_dot_product_attention

from lra.attention.base import AttentionBackend, AttentionDims
from lra.base.arguments import Fraction, checked
from lra.ops.dropout_masks import DropoutMasks
from lra.ops.packing import Packing, mix_by_sequence
from lra.ops.softmax_attention import exact_attention, masked_softmax
from lra.ops.transforms import runs_plainly
from lra.packed.attention import dropout_attention


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
            packing = Packing(valid_BL, batch=len(q_BHLE), length=q_BHLE.shape[2])
            planes = torch.stack([packing.pack(x.transpose(1, 2).flatten(2)) for x in (q_BHLE, k_BHLE, v_BHLE)])
            mixed_BLD = packing.unpack(self.forward_packed(planes, packing)[None])[0]
            mixed_BLHE: Tensor = mixed_BLD.unflatten(2, (self.dims.num_heads, -1))
            return mixed_BLHE.transpose(1, 2)
        return exact_attention(q_BHLE, k_BHLE, v_BHLE, valid_BL, rate=rate)

    def forward_packed(self, qkv_PTD: Tensor, packing: Packing) -> Tensor:
        """Attend within packed tokens; see the base class."""
        heads = self.dims.num_heads
        if self.kernel == "math":
            return super().forward_packed(qkv_PTD, packing)
        if self.training and self.attention_dropout:
            return dropout_attention(qkv_PTD, packing, DropoutMasks(self.attention_dropout), heads=heads)
        return mix_by_sequence(qkv_PTD, packing, scaled_dot_product_attention, heads=heads)
