"""Where Nyström attention leaves padding out, and whether it is exact for short sequences."""

import pytest
import torch

from lra import from_config
from lra.settings.compose import load_config
from lra.types import UserError
from tests.attention.test_contract import backend, inputs
from tests.attention.test_nystrom_choices import by_twin

OPTIONS = [
    {"masking": "kernel_3"},
    {"exact_when_short": False},
    {"masking": "kernel_3", "exact_when_short": False},
]
TRAIN = ["task=listops", "size=tiny", "model.dropout=0.0"]


@pytest.mark.parametrize("length", [4, 5, 17])
@pytest.mark.parametrize("option", OPTIONS, ids=str)
def test_outputs_and_gradients_are_those_of_the_slow_twin(option, length):
    knobs = {"num_landmarks": 5, "value_skip_taps": 3, **option}
    made = backend("nystrom", "paper", length, **knobs)
    q, k, v, valid = inputs(length)
    weight = torch.randn_like(v) * valid[:, None, :, None]
    fast, slow = made(q, k, v, valid), by_twin(made, "paper", q, k, v, valid, **knobs)
    real = valid.any(1)  # a sequence that is all padding has no meaning
    torch.testing.assert_close(fast[real], slow[real], rtol=1e-7, atol=1e-9)
    gradients = [torch.autograd.grad((out[real] * weight[real]).sum(), [q, k, v]) for out in (fast, slow)]
    for mine, twins in zip(*gradients, strict=True):
        torch.testing.assert_close(mine, twins, rtol=1e-7, atol=1e-9)


def test_only_kernel_3_leaves_padding_out_if_so_chosen():
    q, k, v, valid = inputs(17)
    other = [torch.where(valid[:, None, :, None], x, x + 1) for x in (q, k, v)]
    for masking, changed in (("all", False), ("kernel_3", True)):
        made = backend("nystrom", "paper", 17, num_landmarks=5, value_skip_taps=3, masking=masking)
        real = valid[:, None, :, None]
        first, second = made(q, k, v, valid) * real, made(*other, valid) * real
        assert (not torch.allclose(first, second)) == changed


def test_the_packed_form_has_no_padding_to_read_so_it_is_not_used():
    cfg = load_config("train", [*TRAIN, "attention.masking=kernel_3"])
    model = from_config.build_model(cfg)
    tokens = torch.randint(1, 16, (2, 1, 256))
    tokens[:, :, 100:] = 0
    padded = model(tokens, tokens != 0, packed=False)
    assert model(tokens, tokens != 0).equal(padded)
    with pytest.raises(UserError, match=r"type model\.packed=auto"):
        model(tokens, tokens != 0, packed=True)


def test_what_contradicts_is_refused():
    with pytest.raises(UserError, match=r"attention\.masking=kernel_3 is for"):
        backend("nystrom", "paper", 17, masking="kernel_3", landmarks="valid")
