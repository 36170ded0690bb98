"""Operators against plain formulas: outputs and gradients."""

from __future__ import annotations

import math

import pytest
import torch
from torch.nn.functional import conv2d

from lra.ops.banded import depthwise_convolution
from lra.ops.blocked_softmax import BLOCK_ELEMENTS, blocked_attention
from lra.ops.dropout import dropout
from lra.ops.landmarks import padded_segment_means, valid_segment_means, valid_segments
from lra.ops.pseudo_inverse import exact_pinv, iterative_pinv
from lra.ops.softmax import masked_softmax
from tests.reference.attention import means, softmax_rows


def test_masked_softmax_is_the_formula_and_zero_without_any_key():
    scores = torch.randn(3, 5, dtype=torch.float64)
    keep = torch.tensor([[1, 1, 0, 1, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]], dtype=torch.bool)
    torch.testing.assert_close(masked_softmax(scores, keep), softmax_rows(scores, keep))
    assert masked_softmax(scores, keep)[1].eq(0).all()


@pytest.mark.parametrize("length", [1, 17, 64, 65, 250])
@pytest.mark.parametrize("taps", [1, 3, 35])
def test_banded_convolution_is_the_grouped_conv2d(length, taps):
    x = torch.randn(2, 3, length, 4, dtype=torch.float64, requires_grad=True)
    w = torch.randn(3, taps, dtype=torch.float64, requires_grad=True)
    fast = depthwise_convolution(x, w)
    slow = conv2d(x, w.view(3, 1, taps, 1), padding=(taps // 2, 0), groups=3)
    torch.testing.assert_close(fast, slow)
    g = torch.randn_like(fast)
    torch.testing.assert_close(torch.autograd.grad(fast, (x, w), g), torch.autograd.grad(slow, (x, w), g))


def test_banded_convolution_takes_a_strided_input():
    x = torch.randn(2, 70, 3, 4).permute(0, 2, 1, 3)
    w = torch.randn(3, 5)
    torch.testing.assert_close(depthwise_convolution(x, w), depthwise_convolution(x.contiguous(), w))


@pytest.mark.parametrize("length", [1, 17, 250])
@pytest.mark.parametrize("landmarks", [1, 8, 64])
def test_landmarks_are_the_means_of_their_segments(length, landmarks):
    valid = torch.rand(3, length) < 0.6
    valid[2] = False
    x = torch.randn(3, 2, length, 4, dtype=torch.float64) * valid[:, None, :, None]
    torch.testing.assert_close(padded_segment_means(x, landmarks), means(x, valid, landmarks, "padded"))
    segment, sizes = valid_segments(valid, landmarks)
    torch.testing.assert_close(valid_segment_means(x, segment, sizes), means(x, valid, landmarks, "valid"))
    assert sizes.sum(1).equal(valid.sum(1))
    for row in sizes:
        used = row[row > 0]
        assert not len(used) or used.max() - used.min() <= 1, "near-equal"


@pytest.mark.parametrize("start", ["per_matrix", "batch"])
def test_iterated_pseudo_inverse_converges_to_the_exact_one(start):
    a = torch.randn(3, 2, 8, 8, dtype=torch.float64).softmax(-1)
    torch.testing.assert_close(iterative_pinv(a, iterations=40, start=start), exact_pinv(a), rtol=1e-5, atol=1e-5)


def test_only_the_batch_start_lets_batch_mates_matter():
    a = torch.randn(4, 2, 8, 8, dtype=torch.float64).softmax(-1)
    for start, same in (("per_matrix", True), ("batch", False)):
        alone = torch.cat([iterative_pinv(one[None], iterations=6, start=start) for one in a])
        assert torch.allclose(alone, iterative_pinv(a, iterations=6, start=start)) == same


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_dropout_drops_the_right_share_independently_and_keeps_the_mean(rate):
    x = torch.ones(1001, 997, requires_grad=True)  # an odd count
    out = dropout(x, rate)
    kept = (out != 0).double()
    error = math.sqrt(rate * (1 - rate) / x.numel())
    assert abs(kept.mean().item() - (1 - rate)) < 4 * error + 1e-5
    assert abs(out.mean().item() - 1) < 5 * error / (1 - rate)
    flat = (kept - kept.mean()).flatten()
    for lag in (1, 2, 3, 4, 997):  # four neighbours share one drawn number
        together = (flat[lag:] * flat[:-lag]).mean() / flat.var()
        assert abs(together.item()) < 4 / math.sqrt(x.numel())
    (grad,) = torch.autograd.grad(out.sum(), x)
    assert grad.equal(out), "the same entries, the same factor"
    torch.manual_seed(5)
    first = dropout(x, rate)
    torch.manual_seed(5)
    assert dropout(x, rate).equal(first)
    assert dropout(x, 0.0) is x


def _blocked_inputs(length=37, dtype=torch.float64):
    q, k, v = (torch.randn(2, 3, length, 8, dtype=dtype, requires_grad=True) for _ in range(3))
    return q, k, v


@pytest.mark.parametrize("masked", [False, True])
def test_blocked_attention_without_dropout_is_the_softmax(masked, monkeypatch):
    monkeypatch.setattr("lra.ops.blocked_softmax.BLOCK_ELEMENTS", 3 * 37 * 10)  # several blocks, the last one short
    q, k, v = _blocked_inputs()
    keep = (torch.rand(2, 37) < 0.5) if masked else None
    fast = blocked_attention(q, k, v, keep, dropout=0.0)
    slow = softmax_rows(q @ k.mT / math.sqrt(8), None if keep is None else keep[:, None, None, :]) @ v
    torch.testing.assert_close(fast, slow)
    g = torch.randn_like(fast)
    torch.testing.assert_close(torch.autograd.grad(fast, (q, k, v), g), torch.autograd.grad(slow, (q, k, v), g))


def test_blocked_attention_with_dropout_has_the_gradients_of_its_own_draw(monkeypatch):
    monkeypatch.setattr("lra.ops.blocked_softmax.BLOCK_ELEMENTS", 3 * 6 * 4)
    q, k, v = _blocked_inputs(length=6)

    def same_draw(q, k, v):
        torch.manual_seed(3)
        return blocked_attention(q, k, v, None, dropout=0.4)

    assert torch.autograd.gradcheck(same_draw, (q, k, v))


def test_blocked_attention_drops_the_right_share_and_keeps_the_mean():
    length = 512
    q = k = torch.zeros(4, 2, length, 8)
    v = torch.eye(length)[None, None, :, :8].expand(4, 2, length, 8).contiguous()
    torch.manual_seed(0)
    out = blocked_attention(q, k, v, None, dropout=0.1) * length  # each entry is one weight's factor
    dropped = (out == 0).double().mean().item()
    assert abs(dropped - 0.1) < 4 * math.sqrt(0.09 / out.numel())
    assert out.max().item() == pytest.approx(1 / 0.9, rel=1e-4)


def test_blocked_attention_repeats_with_the_global_generator():
    q, k, v = _blocked_inputs()
    torch.manual_seed(1)
    first, second = (blocked_attention(q, k, v, None, dropout=0.5) for _ in range(2))
    torch.manual_seed(1)
    assert blocked_attention(q, k, v, None, dropout=0.5).equal(first)
    assert not first.equal(second)


@pytest.mark.slow
def test_blocked_attention_needs_memory_linear_in_the_length():
    """Doubling L doubles what it holds (and does not quadruple it): L × L floats would be 4 GiB here."""
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    q, k, v = (torch.randn(1, 1, 32768, 8, requires_grad=True) for _ in range(3))
    blocked_attention(q, k, v, None, dropout=0.1).sum().backward()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) * 1024
    assert grown < 64 * BLOCK_ELEMENTS + 40 * q.numel() * 4
