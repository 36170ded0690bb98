"""The packed form of the encoders and their parts: the same as their `forward`, for the real tokens alone.

It is written for blocks of the form `lra.model.block.PRE_NORM`: a change of `EncoderBlock.forward` must also be made in
`transform_packed`; tests/model/test_packed.py compares both forms of every model.

Letters: B sequences, L positions, I numbers at a position, T real tokens of all sequences, P planes (queries, keys,
values), D model width.
"""

from functools import singledispatch

from torch import Tensor, nn
from torch.nn.functional import dropout, pad

from lra.model.block import EncoderBlock
from lra.model.classifier import Encoder
from lra.model.mixer import SequenceMixer
from lra.model.pooling import FirstVector, LastVector, MarkedPositions, MaskedMean
from lra.model.self_attention import SelfAttention
from lra.ops.dropout_masks import DropoutMasks
from lra.ops.packing import Packing
from lra.packed.attention_forms import attend_packed
from lra.packed.dispatch import PackedForms
from lra.packed.layers import embed, feed_forward_residual, norm_linear, norm_sum, project_residual


@singledispatch
def encode(encoder: nn.Module, inputs: Tensor, valid_BL: Tensor | None, pooling: nn.Module) -> Tensor:
    """Encode each sequence to one vector, `[B, D]`; see `lra.base.packed_form.encode_packed`."""
    raise AssertionError(f"{type(encoder).__name__} has no packed form")


@encode.register
def encode_tokens(encoder: Encoder, tokens_BL: Tensor, valid_BL: Tensor | None, pooling: nn.Module) -> Tensor:
    """Encode token ids."""
    token, position = encoder.embedding.token.weight, encoder.embedding.position
    assert position is not None
    packing = Packing(valid_BL, batch=len(tokens_BL), length=tokens_BL.shape[1])
    masks = dropout_masks(encoder.dropout, training=encoder.training)
    x_TD = embed(token, position, packing.pack(tokens_BL), packing.position_T, masks)
    return transform_and_pool(x_TD, packing, masks, blocks=encoder.blocks, norm=encoder.norm, pooling=pooling)


def dropout_masks(rate: float, *, training: bool) -> DropoutMasks | None:
    """Make the dropout masks of a forward pass; None where nothing is dropped."""
    return DropoutMasks(rate) if training and rate else None


def transform_and_pool(
    x_TD: Tensor,
    packing: Packing,
    masks: DropoutMasks | None,
    *,
    blocks: nn.ModuleList,
    norm: nn.Module,
    pooling: nn.Module,
) -> Tensor:
    """Apply blocks, the last LayerNorm and the pooling to embedded tokens `[T, D]`; `[B, D]`."""
    for block in blocks:
        assert isinstance(block, EncoderBlock)
        x_TD = transform_packed(block, x_TD, packing, masks)
    assert isinstance(norm, nn.LayerNorm)
    return pool_packed(pooling, x_TD, norm, packing)


def transform_packed(block: EncoderBlock, x_TD: Tensor, packing: Packing, masks: DropoutMasks | None) -> Tensor:
    """Transform `[T, D]` by a block: one fused operator for each of its two steps; without `masks` without dropout."""
    assert isinstance(block.mixer_norm, nn.LayerNorm)
    assert block.feed_forward is not None
    x_TD = mix_packed(block.mixer, x_TD, block.mixer_norm, packing, masks)
    norm, (up, _, _, down, _) = block.feed_forward_norm, block.feed_forward
    assert isinstance(norm, nn.LayerNorm)
    assert isinstance(up, nn.Linear)
    assert isinstance(down, nn.Linear)
    return feed_forward_residual(x_TD, norm, up, down, masks)


def mix_through_padding(
    mixer: SequenceMixer, x_TD: Tensor, norm: nn.LayerNorm, packing: Packing, masks: DropoutMasks | None
) -> Tensor:
    """Compute `x + dropout(mixer(norm(x)))`, `[T, D]`, in the padded form; without `masks` there is no dropout."""
    x_BLD = packing.unpack(norm(x_TD)[None])[0]
    mixed_TD = packing.pack(mixer(x_BLD, packing.valid_BL))
    return x_TD + (mixed_TD if masks is None else dropout(mixed_TD, masks.rate))


mix_packed = PackedForms(mix_through_padding)


@mix_packed.register
def mix_by_attention(
    mixer: SelfAttention, x_TD: Tensor, norm: nn.LayerNorm, packing: Packing, masks: DropoutMasks | None
) -> Tensor:
    """Compute `x + dropout(mixer(norm(x)))`, with fused layers before and after the attention."""
    qkv, out = mixer.qkv, mixer.out
    qkv_PTD = norm_linear(x_TD, norm.weight, norm.bias, qkv.weight, qkv.used_bias(), planes=3)
    mixed_TD = attend_packed(mixer.backend, qkv_PTD, packing)
    return project_residual(x_TD, mixed_TD, out.weight, out.bias, masks)


@singledispatch
def pool_packed(pooling: nn.Module, x_TD: Tensor, norm: nn.LayerNorm, packing: Packing) -> Tensor:
    """Apply the last LayerNorm and pool to `[B, D]`, in the batch's order."""
    raise AssertionError(f"{type(pooling).__name__} has no packed form")


@pool_packed.register
def pool_mean(pooling: MaskedMean, x_TD: Tensor, norm: nn.LayerNorm, packing: Packing) -> Tensor:
    """Average the tokens of each sequence."""
    sums_BD = norm_sum(x_TD, packing.counts) * norm.weight + packing.counts_B[:, None] * norm.bias
    total_BD = packing.unsort(sums_BD)
    if pooling.over == "padded_mean":
        return total_BD / packing.length
    return total_BD / packing.unsort(packing.counts_B[:, None]).clamp(min=1)


@pool_packed.register
def pool_first(pooling: FirstVector, x_TD: Tensor, norm: nn.LayerNorm, packing: Packing) -> Tensor:
    """Take the first token of each sequence."""
    first_B = packing.counts_B.cumsum(0) - packing.counts_B
    vectors_BD: Tensor = norm(x_TD.index_select(0, first_B))
    return packing.unsort(vectors_BD)


@pool_packed.register
def pool_marked(pooling: MarkedPositions, x_TD: Tensor, norm: nn.LayerNorm, packing: Packing) -> Tensor:
    """Take the marked tokens, `[M, D]`, in the batch's order."""
    packed_M = packing.pack(pooling.marked_BL).nonzero()[:, 0]
    order_M = packing.index_T[packed_M].argsort()
    vectors_MD: Tensor = norm(x_TD.index_select(0, packed_M[order_M]))
    return vectors_MD


@pool_packed.register
def pool_last(pooling: LastVector, x_TD: Tensor, norm: nn.LayerNorm, packing: Packing) -> Tensor:
    """Take the last token of each sequence; one without tokens gives zeros."""
    last = packing.counts_B[: packing.used].cumsum(0) - 1
    vectors: Tensor = norm(x_TD.index_select(0, last))
    return packing.unsort(pad(vectors, (0, 0, 0, packing.batch - packing.used)))
