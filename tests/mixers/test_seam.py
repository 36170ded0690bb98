"""What a mixer has without a line of its own: a packed form through padding."""

import torch
from torch import nn

from lra.model.mixer import MixerDims, SequenceMixer
from lra.ops.dropout_masks import DropoutMasks
from lra.ops.packing import Packing
from lra.packed.encoder_forms import mix_packed

DIMS = MixerDims(width=8, num_heads=2, head_dim=4, max_seq_len=16, dropout=0.5)


class MeanOfRealTokens(SequenceMixer):
    """Every position gets the mean of the real ones, so that it matters which these are."""

    def forward(self, x_BLD, valid_BL):
        weight = torch.ones_like(x_BLD[..., :1]) if valid_BL is None else valid_BL[..., None].to(x_BLD.dtype)
        return ((x_BLD * weight).sum(1, keepdim=True) / weight.sum(1, keepdim=True).clamp(min=1)).expand_as(x_BLD)


def parts():
    x, norm = torch.randn(3, 16, 8), nn.LayerNorm(8)
    valid = torch.rand(3, 16) < 0.5
    valid[2] = False
    return MeanOfRealTokens(DIMS), x, norm, valid, Packing(valid, batch=3, length=16)


def test_the_packed_form_goes_through_padding_and_knows_what_is_real():
    mixer, x, norm, valid, packing = parts()
    packed = mix_packed(mixer, packing.pack(x), norm, packing, None)
    torch.testing.assert_close(packed, packing.pack(x + mixer(norm(x), valid)))


def test_the_packed_form_drops_what_was_mixed_and_keeps_the_residual():
    mixer, x, norm, _, packing = parts()
    x_TD = packing.pack(x)
    whole = mix_packed(mixer, x_TD, norm, packing, None) - x_TD
    dropped = mix_packed(mixer, x_TD, norm, packing, DropoutMasks(0.5)) - x_TD
    kept = dropped.abs() > 1e-6
    assert 0.2 < kept.float().mean() < 0.8
    torch.testing.assert_close(dropped[kept], 2 * whole[kept], rtol=1e-4, atol=1e-5)
