"""Batch norm over real positions, and dropout with one mask for all positions of a sequence."""

import pytest
import torch
from torch import nn

from lra.model.layers import BatchNorm, TiedDropout, normalise

VALID = torch.tensor([[True, True, True, True], [True, False, True, False], [False, False, False, False]])


def norms(*, over_padding: bool):
    """A norm of ours and torch's, in float64, with the same weights."""
    torch.manual_seed(0)
    ours, theirs = (BatchNorm(5, eps=1e-5, over_padding=over_padding).double(), nn.BatchNorm1d(5).double())
    for norm in (ours, theirs):
        with torch.no_grad():
            norm.weight.copy_(torch.linspace(0.5, 2, 5))
            norm.bias.copy_(torch.linspace(-1, 1, 5))
    return ours, theirs


def test_only_real_positions_count_and_what_is_at_the_others_does_not_matter():
    ours, theirs = norms(over_padding=False)
    x = torch.randn(3, 4, 5, dtype=torch.float64, requires_grad=True)
    real = x.detach()[VALID].requires_grad_()
    out, expected = normalise(ours, x, VALID)[VALID], theirs(real)
    torch.testing.assert_close(out, expected, rtol=1e-12, atol=1e-12)
    out.square().sum().backward()
    expected.square().sum().backward()
    torch.testing.assert_close(x.grad[VALID], real.grad, rtol=1e-10, atol=1e-10)
    assert not x.grad[~VALID].any()
    for name, value in theirs.state_dict().items():
        torch.testing.assert_close(ours.state_dict()[name], value, rtol=1e-12, atol=1e-12)
    ours.eval(), theirs.eval()
    torch.testing.assert_close(ours(x, VALID)[VALID], theirs(real), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("over_padding, valid", [(True, VALID), (False, None)])
def test_over_all_positions_it_is_torchs(over_padding, valid):
    ours, theirs = norms(over_padding=over_padding)
    x = torch.randn(3, 4, 5, dtype=torch.float64)
    assert ours(x, valid).equal(theirs(x.flatten(0, 1)).view_as(x))
    assert ours.running_var.equal(theirs.running_var)


def test_a_batch_of_padding_alone_gives_finite_numbers():
    ours, _ = norms(over_padding=False)
    assert ours(torch.randn(1, 4, 5, dtype=torch.float64), VALID[2:]).isfinite().all()
    assert ours.running_var.isfinite().all()


def test_one_mask_for_all_positions():
    torch.manual_seed(0)
    dropped = TiedDropout(0.5)(torch.ones(40, 7, 30))
    assert dropped.unique().tolist() == [0, 2]
    assert (dropped == dropped[:, :1]).all()
    assert (dropped[:, 0] == 0).float().mean().item() == pytest.approx(0.5, abs=0.05)
    assert TiedDropout(0.5).eval()(torch.ones(1, 2, 3)).equal(torch.ones(1, 2, 3))
