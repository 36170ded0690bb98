"""Our BigBird beside that of transformers, with the same projections and the same random blocks."""

import pytest
import torch

from lra.attention.base import AttentionDims
from lra.attention.bigbird import BigbirdAttention

transformers = pytest.importorskip("transformers", reason="pip install -e '.[hf]'")
BATCH, HEADS, HEAD_DIM, BLOCKS, BLOCK_LENGTH = 3, 2, 8, 12, 4
LENGTHS = ((BLOCKS - 1) * BLOCK_LENGTH, 31, 9)  # the last block, which is another global one of theirs, is padding
DIMS = AttentionDims(num_heads=HEADS, head_dim=HEAD_DIM, max_seq_len=BLOCKS * BLOCK_LENGTH)


def theirs(x_BLD: torch.Tensor, valid_BL: torch.Tensor, drawn_XHR: torch.Tensor):
    """Their layer with identities as projections, and random blocks that are given to it."""
    from transformers.models.big_bird.modeling_big_bird import BigBirdBlockSparseAttention, BigBirdModel

    settings = transformers.BigBirdConfig(
        hidden_size=HEADS * HEAD_DIM,
        num_attention_heads=HEADS,
        block_size=BLOCK_LENGTH,
        num_random_blocks=drawn_XHR.shape[2],
        attention_probs_dropout_prob=0.0,
    )
    layer = BigBirdBlockSparseAttention(settings)
    for projection in layer.children():
        torch.nn.init.eye_(projection.weight)
        torch.nn.init.zeros_(projection.bias)
    of_heads = [drawn_XHR[1:-1, head].numpy() for head in range(HEADS)]  # of all blocks but the first and the last
    layer._bigbird_block_rand_mask_with_head = lambda **sizes: of_heads
    blocked, band, rows, columns = BigBirdModel.create_masks_for_block_sparse_attn(valid_BL.float(), BLOCK_LENGTH)
    out_BLD, _ = layer(
        x_BLD, band_mask=band, from_mask=rows, to_mask=columns, from_blocked_mask=blocked, to_blocked_mask=blocked
    )
    return out_BLD


@pytest.mark.parametrize("random_blocks", [1, 3])
def test_outputs_and_gradients_at_real_positions_agree(random_blocks):
    x_BLD = torch.randn(BATCH, DIMS.max_seq_len, HEADS * HEAD_DIM, requires_grad=True)
    valid_BL = torch.arange(DIMS.max_seq_len) < torch.tensor(LENGTHS)[:, None]
    weights_BLD = torch.randn_like(x_BLD) * valid_BL[..., None]
    backend = BigbirdAttention(
        DIMS, block_length=BLOCK_LENGTH, window_blocks=3, global_blocks=1, random_blocks=random_blocks
    )
    expected_BLD = theirs(x_BLD, valid_BL, backend.drawn_blocks)
    x_BHLE = x_BLD.view(BATCH, DIMS.max_seq_len, HEADS, HEAD_DIM).transpose(1, 2)
    out_BLD = backend(x_BHLE, x_BHLE, x_BHLE, valid_BL).transpose(1, 2).flatten(2)
    assert valid_BL.sum() == sum(LENGTHS)
    torch.testing.assert_close(out_BLD[valid_BL], expected_BLD[valid_BL], rtol=1e-5, atol=1e-5)
    gradients = [torch.autograd.grad((out * weights_BLD).sum(), x_BLD)[0] for out in (out_BLD, expected_BLD)]
    torch.testing.assert_close(*gradients, rtol=1e-4, atol=1e-5)
