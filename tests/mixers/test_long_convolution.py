"""Long convolutions against their sums, term by term."""

import pytest
import torch

from lra.mixers.long_convolution import convolve_both_ways, sums_of_powers


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 16, 17, 50])
@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128])
def test_sums_of_powers_are_the_sums(length, dtype):
    weight = torch.randn(2, 3, 4, dtype=dtype, requires_grad=True)
    log_ratio = (0.3 * torch.randn(3, 4, dtype=dtype) - 0.5).requires_grad_()
    fast = sums_of_powers(weight, log_ratio, length)
    slow = torch.stack([(weight * (k * log_ratio).exp()).real.sum(-1) for k in range(length)], dim=-1)
    torch.testing.assert_close(fast, slow)
    upstream = torch.randn_like(fast)
    for ours, theirs in zip(
        *(torch.autograd.grad(y, (weight, log_ratio), upstream) for y in (fast, slow)), strict=True
    ):
        torch.testing.assert_close(ours, theirs)


@pytest.mark.parametrize("length", [1, 2, 7, 32])
def test_convolutions_both_ways_are_the_sums_and_nothing_wraps_around(length):
    x, ahead, back = (torch.randn(shape, dtype=torch.float64) for shape in ((2, length, 3), (3, length), (3, length)))
    slow = torch.zeros_like(x)
    for t in range(length):
        for s in range(length):
            if s <= t:
                slow[:, t] += ahead[:, t - s] * x[:, s]
            if s >= t:
                slow[:, t] += back[:, s - t] * x[:, s]
    torch.testing.assert_close(convolve_both_ways(x, ahead, back), slow)
