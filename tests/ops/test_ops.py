"""Operators against plain formulas: outputs and gradients."""

import pytest
import torch

from lra.ops import linear_algebra
from lra.ops.landmarks import padded_segment_means, valid_segment_means, valid_segments
from lra.ops.linear_algebra import exact_pinv, iterative_pinv
from lra.ops.packing import Packing
from lra.ops.softmax_attention import masked_softmax
from lra.packed.segments import Segments
from tests.reference.attention import pinv_steps, softmax_rows
from tests.reference.landmarks import segment_means as means


def test_masked_softmax_is_the_formula_and_zero_without_any_key():
    scores = torch.randn(3, 5, dtype=torch.float64)
    keep = torch.tensor([[1, 1, 0, 1, 0], [0, 0, 0, 0, 0], [0, 0, 0, 0, 1]], dtype=torch.bool)
    torch.testing.assert_close(masked_softmax(scores, keep), softmax_rows(scores, keep))
    assert masked_softmax(scores, keep)[1].eq(0).all()


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
    torch.testing.assert_close(
        iterative_pinv(a, iterations=40, start=start), exact_pinv(a, rtol=1e-10), rtol=1e-5, atol=1e-5
    )


def test_only_the_batch_start_lets_other_examples_of_the_batch_matter():
    a = torch.randn(4, 2, 8, 8, dtype=torch.float64).softmax(-1)
    for start, same in (("per_matrix", True), ("batch", False)):
        alone = torch.cat([iterative_pinv(one[None], iterations=6, start=start) for one in a])
        assert torch.allclose(alone, iterative_pinv(a, iterations=6, start=start)) == same


@pytest.mark.parametrize("start", ["per_matrix", "batch"])
@pytest.mark.parametrize("iterations", [1, 6])
def test_iterated_pseudo_inverse_has_the_values_and_gradients_of_the_formula(start, iterations, monkeypatch):
    monkeypatch.setattr(linear_algebra, "MATRICES_AT_ONCE", 4)  # the six matrices in two parts
    monkeypatch.setattr(linear_algebra, "ENTRIES_AT_ONCE", 0)
    a = torch.randn(3, 2, 8, 8, dtype=torch.float64).softmax(-1).requires_grad_()
    fast, slow = iterative_pinv(a, iterations=iterations, start=start), pinv_steps(a, iterations, start)
    torch.testing.assert_close(fast, slow)
    grad = torch.randn_like(a)
    torch.testing.assert_close(torch.autograd.grad(fast, a, grad), torch.autograd.grad(slow, a, grad))


@pytest.mark.parametrize("kind", ["padded", "valid"])
@pytest.mark.parametrize("landmarks", [1, 8, 64])
def test_landmarks_of_packed_tokens_are_those_of_padded_ones(kind, landmarks):
    valid = torch.rand(3, 50) < 0.6
    valid[1] = False
    packing = Packing(valid, batch=3, length=50)
    x = torch.randn(3, 2, 50, 4, dtype=torch.float64) * valid[:, None, :, None]
    packed = torch.stack([packing.pack(head) for head in x.unbind(1)])
    wanted = means(x, valid, landmarks, kind)[packing.order_B].transpose(0, 1)
    torch.testing.assert_close(Segments(packing, landmarks, kind).means(packed), wanted)
