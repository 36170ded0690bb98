"""A second backward pass through the same graph gives the same gradients; second derivatives are refused."""

import pytest
import torch

from lra import from_config
from lra.base.paths import conf_names
from lra.settings.compose import load_config
from lra.types import UserError
from tests.model.test_packed import batch_of


def model_of(name: str, *words: str):
    made = from_config.build_model(
        load_config("train", ["task=listops", "size=tiny", f"attention={name}", "model.dropout=0", *words])
    ).double()
    return made.eval()


@pytest.mark.some_fast(4)
@pytest.mark.parametrize("name", conf_names("attention"))
def test_backward_twice(name):
    model, (tokens, valid) = model_of(name), batch_of("listops", "paper")
    loss = model(tokens, valid, packed=True).square().sum()
    once, twice = (
        torch.autograd.grad(loss, list(model.parameters()), retain_graph=True, materialize_grads=True) for _ in range(2)
    )
    for one, other in zip(once, twice, strict=True):
        torch.testing.assert_close(one, other)


def test_second_derivatives_of_the_packed_form_are_refused():
    model, (tokens, valid) = model_of("nystrom"), batch_of("listops", "paper")
    loss = model(tokens, valid, packed=True).square().sum()
    with pytest.raises(UserError, match=r"create_graph=True.*packed=False"):
        torch.autograd.grad(loss, list(model.parameters()), create_graph=True, allow_unused=True)


def test_the_value_skip_can_be_trained_alone():
    model, (tokens, valid) = model_of("nystrom"), batch_of("listops", "paper")
    model.requires_grad_(False)
    taps = [weight.requires_grad_() for name, weight in model.named_parameters() if "value_skip" in name]
    assert taps, [name for name, _ in model.named_parameters()]
    packed, padded = (
        torch.autograd.grad(model(tokens, valid, packed=form).square().sum(), taps) for form in (True, False)
    )
    for one, other in zip(packed, padded, strict=True):
        torch.testing.assert_close(one, other)


def test_performer_draws_new_features_between_two_calls_of_one_step():
    model, (tokens, valid) = model_of("performer", "attention.redraw_every=1").train(), batch_of("listops", "paper")
    loss = sum(model(tokens, valid, packed=False).square().sum() for _ in range(3))
    loss.backward()
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in model.parameters())
