"""The fast functions on packed tokens against torch's own, one operator at a time: outputs and gradients."""

import math

import pytest
import torch
from torch import nn
from torch.nn.functional import conv2d, gelu, layer_norm, linear, scaled_dot_product_attention

from lra.ops import attention_by_sequence, dropout_masks
from lra.ops.attention_by_sequence import dropout_attention
from lra.ops.banded_convolution import convolve
from lra.ops.dropout_masks import DropoutMasks
from lra.ops.packing import Packing, mix_by_sequence
from lra.packed import chunks
from lra.packed.layers import embed, feed_forward_residual, norm_linear, norm_sum, project_residual
from lra.packed.nystrom import add_convolution, add_convolution_backward
from lra.tools.sequence_encoder import SequenceEncoder

TOKENS, WIDTH, HIDDEN = 50, 8, 12


@pytest.fixture(autouse=True)
def several_chunks(monkeypatch):
    torch.manual_seed(0)
    monkeypatch.setattr(chunks, "ROWS", 16)  # the last chunk of 50 rows has 2


def numbers(*shape: int) -> torch.Tensor:
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def assert_same(fast, slow, wrt) -> None:
    torch.testing.assert_close(fast, slow)
    grad = torch.randn_like(fast)
    torch.testing.assert_close(torch.autograd.grad(fast, wrt, grad), torch.autograd.grad(slow, wrt, grad))


def factors(masks: DropoutMasks | None, first: int, step: int, width: int, widest: int = 0) -> torch.Tensor | float:
    """The factors that a function has used for the chunks of one place."""
    if masks is None:
        return 1.0
    pieces = torch.zeros(TOKENS, width).split(chunks.most_rows(widest or width))
    return (
        torch.cat([masks.keep(first + step * i, rows).clone() for i, rows in enumerate(pieces)]).double() * masks.scale
    )


def ragged(batch: int = 4, length: int = 40, *, holes: bool) -> torch.Tensor:
    if holes:
        valid = torch.rand(batch, length) < 0.4
        valid[2] = False
        return valid
    return torch.arange(length) < torch.tensor([17, 40, 0, 3])[:, None]


def test_linear_of_a_layer_norm():
    x, gain, shift, weight, bias = numbers(TOKENS, WIDTH), numbers(8), numbers(8), numbers(6, 8), numbers(6)
    fast = norm_linear(x, gain, shift, weight, bias, planes=3)
    slow = linear(layer_norm(x, (WIDTH,), gain, shift), weight, bias).unflatten(1, (3, 2)).transpose(0, 1)
    assert_same(fast, slow, (x, gain, shift, weight, bias))


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_projection_dropout_and_residual(rate):
    masks = DropoutMasks(rate) if rate else None
    x, mixed, weight, bias = numbers(TOKENS, WIDTH), numbers(TOKENS, 6), numbers(WIDTH, 6), numbers(WIDTH)
    fast = project_residual(x, mixed, weight, bias, masks)
    slow = x + linear(mixed, weight, bias) * factors(masks, 0, 1, WIDTH)
    assert_same(fast, slow, (x, mixed, weight, bias))


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_feed_forward_dropout_and_residual(rate):
    masks = DropoutMasks(rate) if rate else None
    x, layers = numbers(TOKENS, WIDTH), [nn.LayerNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)]
    parameters = [nn.init.normal_(one) for layer in layers for one in layer.double().parameters()]
    gain, shift, up, up_bias, down, down_bias = parameters
    fast = feed_forward_residual(x, *layers, masks)
    hidden = gelu(linear(layer_norm(x, (WIDTH,), gain, shift), up, up_bias)) * factors(masks, 0, 2, HIDDEN)
    slow = x + linear(hidden, down, down_bias) * factors(masks, 1, 2, WIDTH, HIDDEN)
    assert_same(fast, slow, (x, *parameters))


@pytest.mark.parametrize("test", [test_projection_dropout_and_residual, test_feed_forward_dropout_and_residual])
def test_a_wide_layer_has_chunks_that_one_dropout_mask_holds(monkeypatch, test):
    for module in (chunks, dropout_masks):
        monkeypatch.setattr(module, "MOST_ENTRIES", 64)
    assert chunks.most_rows(HIDDEN) == 5
    test(0.3)


def test_a_wide_encoder_trains(monkeypatch):
    monkeypatch.setattr(chunks, "ROWS", 4096)
    encoder = SequenceEncoder.build(embed_dim=6).train()
    encoder(torch.randn(40, 60, 6)).sum().backward()
    assert all(x.grad is not None and x.grad.isfinite().all() for x in encoder.parameters())


@pytest.mark.parametrize("rate", [0.0, 0.3])
def test_embedding(rate):
    masks = DropoutMasks(rate) if rate else None
    token, position = numbers(5, WIDTH), numbers(9, WIDTH)
    ids, places = torch.randint(5, (TOKENS,)), torch.randint(9, (TOKENS,))
    fast = embed(token, position, ids, places, masks)
    assert_same(fast, (token[ids] + position[places]) * factors(masks, 0, 1, WIDTH), (token, position))


def test_sum_of_a_layer_norm():
    x, counts = numbers(TOKENS, WIDTH), [30, 0, 20]
    slow = torch.stack([layer_norm(rows, (WIDTH,)).sum(0) for rows in x.split(counts)])
    assert_same(norm_sum(x, counts), slow, (x,))


@pytest.mark.parametrize("holes", [False, True])
def test_packing_and_unpacking_are_inverse_and_keep_the_order(holes):
    valid = ragged(holes=holes)
    packing = Packing(valid, batch=4, length=40)
    assert packing.counts == sorted(valid.sum(1).tolist(), reverse=True)
    assert packing.has_holes == holes
    x = torch.randn(2, 4, 40, 3)
    assert packing.unpack(torch.stack([packing.pack(plane) for plane in x])).equal(x * valid[..., None])
    for b, rows in enumerate(torch.arange(len(packing.index_T)).split(packing.counts)):
        assert packing.position_T[rows].equal(valid[packing.order_B[b]].nonzero()[:, 0])
        assert packing.rank_T[rows].tolist() == list(range(packing.counts[b]))
        assert packing.sequence_T[rows].eq(b).all()
    assert packing.unsort(packing.counts_B[:, None])[:, 0].equal(valid.sum(1))


@pytest.mark.parametrize("holes", [False, True, None])
@pytest.mark.parametrize("length", [1, 31, 65, 200])
@pytest.mark.parametrize("taps", [1, 3, 35])
def test_convolution_is_the_grouped_conv2d(holes, length, taps):
    valid = None if holes is None else torch.rand(4, length) < 0.6
    if holes is False:
        valid = torch.arange(length) < torch.tensor([length, 1, 0, length // 2])[:, None]
    packing = Packing(valid, batch=4, length=length)
    x_BLD = torch.randn(4, length, 6, dtype=torch.float64)
    x_BLD = (x_BLD if valid is None else x_BLD * valid[..., None]).requires_grad_()
    filters, before = numbers(3, taps), torch.randn(len(packing.index_T), 6, dtype=torch.float64)
    x_TD = packing.pack(x_BLD.detach())
    out = add_convolution(x_TD, filters.detach(), packing, before)
    x_BHLE = x_BLD.unflatten(2, (3, 2)).transpose(1, 2)
    slow_BHLE = conv2d(x_BHLE, filters.view(3, 1, taps, 1), padding=(taps // 2, 0), groups=3)
    slow = packing.pack(slow_BHLE.transpose(1, 2).flatten(2))
    torch.testing.assert_close(out - before, slow)
    grad, grad_x = torch.randn_like(slow), before.clone()
    grad_filters = add_convolution_backward(grad, x_TD, filters.detach(), packing, grad_x)
    wanted = torch.autograd.grad(slow, (x_BLD, filters), grad, retain_graph=True)
    torch.testing.assert_close(grad_x - before, packing.pack(wanted[0]))
    torch.testing.assert_close(grad_filters, wanted[1])
    product_BHLE, grad_BHLE = convolve(x_BHLE, filters), torch.randn_like(x_BHLE)
    torch.testing.assert_close(product_BHLE, slow_BHLE)
    ours, theirs = (torch.autograd.grad(y, (x_BLD, filters), grad_BHLE) for y in (product_BHLE, slow_BHLE))
    for one, other in zip(ours, theirs, strict=True):
        torch.testing.assert_close(one, other)


def slow_attention(planes: torch.Tensor, packing: Packing, keep) -> torch.Tensor:
    out = []
    for b, rows in enumerate(planes.split(packing.counts, dim=1)):
        q, k, v = rows.unflatten(2, (2, -1)).transpose(1, 2)
        weights = (q @ k.mT / math.sqrt(q.shape[2])).softmax(-1) * (keep(b) if len(q[0]) else 1)
        out.append((weights @ v).transpose(0, 1).flatten(1))
    return torch.cat(out)


@pytest.mark.parametrize("holes", [False, True])
def test_exact_attention(holes):
    packing = Packing(ragged(holes=holes), batch=4, length=40)
    planes = numbers(3, len(packing.index_T), 8)
    fast = mix_by_sequence(planes, packing, scaled_dot_product_attention, heads=2)
    assert_same(fast, slow_attention(planes, packing, lambda b: 1.0), (planes,))


def test_attention_with_dropout_has_the_outputs_and_gradients_of_its_masks(monkeypatch):
    monkeypatch.setattr(attention_by_sequence, "BLOCK_ENTRIES", 2 * 17 * 5)  # several blocks, the last one short
    packing = Packing(ragged(holes=False), batch=4, length=40)
    planes, masks = numbers(3, len(packing.index_T), 8), DropoutMasks(0.4)
    kept, number = {}, 0
    for b, q in enumerate(packing.by_head(planes[0], 2)):
        blocks = [torch.empty(2, block.stop - block.start, q.shape[1]) for block in attention_by_sequence._blocks(q)]
        kept[b] = torch.cat([masks.keep(number + i, like).double() for i, like in enumerate(blocks)], 1) * masks.scale
        number += len(blocks)
    assert number > 2 * packing.used
    fast = dropout_attention(planes, packing, masks, heads=2)
    assert_same(fast, slow_attention(planes, packing, kept.get), (planes,))


def test_attention_with_dropout_takes_heads_apart_where_a_block_cannot_hold_all(monkeypatch):
    monkeypatch.setattr(
        attention_by_sequence, "BLOCK_ENTRIES", 50
    )  # a row of one head of the longest sequence, not of all
    qkv, packing = numbers(3, 60, 12), Packing(ragged(holes=False), batch=4, length=40)
    assert_same(
        dropout_attention(qkv, packing, DropoutMasks(0.0), heads=3),
        mix_by_sequence(qkv, packing, scaled_dot_product_attention, heads=3),
        [qkv],
    )


def test_attention_with_dropout_keeps_the_mean_of_the_weights():
    length = 512
    packing = Packing(None, batch=4, length=length)
    planes = torch.zeros(3, 4 * length, 16)
    planes[2] = torch.eye(length)[:, :8].repeat(4, 2)
    out = dropout_attention(planes, packing, DropoutMasks(0.1), heads=2) * length  # an entry is one weight's factor
    assert (out == 0).double().mean().item() == pytest.approx(0.1, abs=0.005)
    assert out.max().item() == pytest.approx(1 / 0.9, rel=1e-4)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_attention_with_dropout_needs_memory_linear_in_the_length():
    """L × L floats would be 4 GiB here."""
    import resource

    packing = Packing(None, batch=1, length=32768)
    planes = torch.randn(3, 32768, 8, requires_grad=True)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    dropout_attention(planes, packing, DropoutMasks(0.1), heads=1).sum().backward()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 64 * attention_by_sequence.BLOCK_ENTRIES + 40 * planes.numel() * 4
