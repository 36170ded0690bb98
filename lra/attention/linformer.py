"""Linformer (Wang et al. 2020, arXiv 2006.04768): attention to a fixed number of linear combinations of the keys.

Letters: B examples, H heads, L positions, E dims per head, P projections, X longest length.
"""

import torch
from torch import Tensor, nn

from lra.attention.base import AttentionBackend, AttentionDims, without_padding
from lra.base.option_types import Count, checked
from lra.base.protocol import LinformerSharing
from lra.ops.softmax_attention import exact_attention
from lra.ops.transforms import known_length


class LinformerAttention(AttentionBackend):
    """softmax(q (W k)ᵀ / √E) (W v) with a learned `[P, L]` projection W for each head.

    Keys and values are set to 0 at padded positions before the projection. The softmax is over projections, so it needs
    no mask. Both are as in the released Nyströmformer code.

    Args:
        projections: P, at least 1.
        sharing: `all`: one projection per head for keys, values and all layers; `layer`: one for keys and values of
            each layer; `none`: keys and values of each layer have their own.

    Raises:
        UserError: for fewer projections than 1, or an unknown sharing.
    """

    shown = ("projections", "sharing")

    @checked
    def __init__(self, dims: AttentionDims, *, projections: Count, sharing: LinformerSharing):
        super().__init__(dims)
        self.projections, self.sharing = projections, sharing
        self.project_keys = self._draw()
        self.project_values = self._draw() if sharing == "none" else self.project_keys

    def _draw(self) -> nn.Parameter:
        """Draw a projection for each head, `[H, P, X]`, from N(0, .02²)."""
        return nn.Parameter(torch.empty(self.dims.num_heads, self.projections, self.dims.max_seq_len).normal_(std=0.02))

    def share_with(self, first: AttentionBackend) -> None:
        """Use the first layer's projection if all layers share one."""
        assert isinstance(first, LinformerAttention)
        if self.sharing == "all":
            self.project_keys = self.project_values = first.project_keys

    def forward(self, q_BHLE: Tensor, k_BHLE: Tensor, v_BHLE: Tensor, valid_BL: Tensor | None) -> Tensor:
        """Attend; see the base class."""
        length = known_length(q_BHLE.shape[2])
        assert length <= self.dims.max_seq_len, f"length {length} > {self.dims.max_seq_len}"
        k_BHLE, v_BHLE = without_padding(valid_BL, k_BHLE, v_BHLE)
        k_BHPE = _project(self.project_keys[:, :, :length], k_BHLE)
        v_BHPE = _project(self.project_values[:, :, :length], v_BHLE)
        return exact_attention(q_BHLE, k_BHPE, v_BHPE, None)


def _project(projection_HPL: Tensor, x_BHLE: Tensor) -> Tensor:
    """Project along the sequence, with one matrix product per head for all examples; `[B, H, P, E]`."""
    batch, heads, length, dims = x_BHLE.shape
    columns = x_BHLE.permute(1, 2, 0, 3).reshape(heads, length, batch * dims)
    projected_HPBE: Tensor = (projection_HPL @ columns).unflatten(2, (batch, dims))
    return projected_HPBE.permute(2, 0, 1, 3)
