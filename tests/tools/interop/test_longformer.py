"""Our Longformer beside that of transformers, with the same projections for local and global attention."""

import pytest
import torch

from lra.attention.base import AttentionDims
from lra.attention.longformer import LongformerAttention

transformers = pytest.importorskip("transformers", reason="pip install -e '.[hf]'")
BATCH, HEADS, HEAD_DIM, LENGTH = 3, 2, 8, 48
LENGTHS = (48, 31, 7)
DIMS = AttentionDims(num_heads=HEADS, head_dim=HEAD_DIM, max_seq_len=LENGTH)


def theirs(x_BLD: torch.Tensor, valid_BL: torch.Tensor, *, window: int, global_tokens: int):
    """Their layer with identities as projections: queries, keys and values are the inputs themselves."""
    from transformers.models.longformer.modeling_longformer import LongformerSelfAttention

    settings = transformers.LongformerConfig(
        hidden_size=HEADS * HEAD_DIM,
        num_attention_heads=HEADS,
        attention_window=[window],
        attention_probs_dropout_prob=0.0,
    )
    layer = LongformerSelfAttention(settings, 0).eval()
    for projection in layer.children():
        torch.nn.init.eye_(projection.weight)
        torch.nn.init.zeros_(projection.bias)
    global_BL = valid_BL & (valid_BL.cumsum(1) <= global_tokens)
    kinds_BL = torch.zeros(valid_BL.shape).masked_fill(~valid_BL, -10_000.0).masked_fill(global_BL, 10_000.0)
    (out_BLD,) = layer(
        x_BLD,
        attention_mask=kinds_BL,
        is_index_masked=~valid_BL,
        is_index_global_attn=global_BL,
        is_global_attn=bool(global_BL.any()),
    )
    return out_BLD


@pytest.mark.parametrize("global_tokens", [0, 1, 3])
@pytest.mark.parametrize("window", [4, 8, 16])
def test_outputs_and_gradients_at_real_positions_agree(window, global_tokens):
    x_BLD = torch.randn(BATCH, LENGTH, HEADS * HEAD_DIM, requires_grad=True)
    valid_BL = torch.arange(LENGTH) < torch.tensor(LENGTHS)[:, None]
    weights_BLD = torch.randn_like(x_BLD) * valid_BL[..., None]
    expected_BLD = theirs(x_BLD, valid_BL, window=window, global_tokens=global_tokens)
    x_BHLE = x_BLD.view(BATCH, LENGTH, HEADS, HEAD_DIM).transpose(1, 2)
    backend = LongformerAttention(DIMS, window=window, global_tokens=global_tokens)
    out_BLD = backend(x_BHLE, x_BHLE, x_BHLE, valid_BL).transpose(1, 2).flatten(2)
    assert valid_BL.sum() == sum(LENGTHS)
    torch.testing.assert_close(out_BLD[valid_BL], expected_BLD[valid_BL], rtol=1e-5, atol=1e-5)
    gradients = [torch.autograd.grad((out * weights_BLD).sum(), x_BLD)[0] for out in (out_BLD, expected_BLD)]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)
