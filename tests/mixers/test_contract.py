"""The promises of every sequence mixer, for each file in conf/mixer.

A mixer with a YAML file is tested without another edit here, but tests/reference/mixers.py must have its slow twin
under the same name.
"""

from __future__ import annotations

import pytest
import torch
from torch import nn

from lra import build, config
from lra.model.mixer import MixerDims
from lra.packed.packing import Packing
from lra.paths import conf_dir
from tests.reference import mixers as reference

NAMES = sorted(path.stem for path in (conf_dir() / "mixer").glob("*.yaml"))
S4D = [
    (f"mixer.init={init}", f"mixer.discretisation={rule}") for init in ("lin", "inv") for rule in ("zoh", "bilinear")
]
VARIANTS = {  # beside what the YAML file says
    "attention": [("attention=full",), ("attention=nystrom", "protocol=clean"), ("attention=none",)],
    "s4d": [*S4D, ("mixer.input=learned",)],
}
CASES = [(name, words) for name in NAMES for words in VARIANTS.get(name, [()])]
LONGEST = 65
LENGTHS = (1, 2, 17, LONGEST)
WIDTH, HEADS = 8, 2


def configured(name: str, words: tuple[str, ...]):
    return config.load_config("train", [f"mixer={name}", "size=tiny", *words])


def mixer(name: str, words: tuple[str, ...], *, seed: int = 0, dtype=torch.float64, width: int = WIDTH):
    torch.manual_seed(seed)
    dims = MixerDims(width=width, num_heads=HEADS, head_dim=width // HEADS, max_seq_len=LONGEST, dropout=0.1)
    made = next(build.build_mixers(configured(name, words))(dims, 1)).to(dtype).eval()
    for parameter in made.parameters():  # shifts other than 0, and no two alike
        parameter.data.add_(torch.randn_like(parameter), alpha=0.1)
    return made


def inputs(length: int, *, dtype=torch.float64, batch: int = 4):
    """All real; ragged end; holes; nothing real."""
    torch.manual_seed(length)
    valid = torch.rand(batch, length) < 0.7
    valid[0], valid[1], valid[-1] = True, torch.arange(length) < max(1, length // 2), False
    return torch.randn(batch, length, WIDTH, dtype=dtype, requires_grad=True), valid


def gradients(out, wrt, weight):
    return torch.autograd.grad(out, wrt, weight, materialize_grads=True)


@pytest.mark.parametrize("name, words", CASES)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("masked", [True, False])
def test_outputs_and_gradients_equal_the_slow_twin(name, words, length, masked):
    made = mixer(name, words)
    x, valid = inputs(length)
    valid = valid if masked else None
    cfg = configured(name, words)
    knobs = {key: value for key, value in config.mixer_settings(cfg).items() if key not in ("name", "_target_")}
    if name == config.ATTENTION:
        knobs |= {"backend": cfg.attention.name, "heads": HEADS}
    assert hasattr(reference, name), f"tests/reference/mixers.py has no slow twin {name}()"
    parameters = dict(made.named_parameters())
    slow = getattr(reference, name)(x, valid, **knobs, **parameters)
    fast = made(x, valid)
    real = torch.ones_like(fast) if valid is None else valid[..., None].expand_as(fast).to(fast.dtype)
    torch.testing.assert_close(fast * real, slow * real, rtol=1e-9, atol=1e-9)
    weight, wrt = torch.randn_like(fast) * real, (x, *parameters.values())
    for ours, theirs in zip(gradients(fast, wrt, weight), gradients(slow, wrt, weight), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name, words", CASES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("training", [False, True])
def test_keeps_shape_and_dtype_and_stays_finite_for_a_row_that_is_all_padding(name, words, dtype, training):
    made = mixer(name, words, dtype=dtype).train(training)
    for length in range(1, LONGEST + 1, 4):
        x, valid = inputs(length, dtype=dtype)
        out = made(x, valid)
        assert (out.shape, out.dtype) == (x.shape, dtype)
        assert out.isfinite().all()
        wrt = (x, *made.parameters())
        assert all(grad.isfinite().all() for grad in gradients(out, wrt, torch.ones_like(out)))
        only_padding = gradients(made(x[-1:], valid[-1:]), wrt, torch.ones_like(x[-1:]))
        assert all(grad.isfinite().all() for grad in only_padding)


@pytest.mark.parametrize("name, words", CASES)
@pytest.mark.parametrize("length", LENGTHS[1:])
def test_the_content_of_padding_never_reaches_a_real_token(name, words, length):
    made = mixer(name, words)
    x, valid = inputs(length)
    real = valid[..., None]
    other = torch.where(real, x, 100 * torch.randn_like(x)).detach()
    out = made(x, valid)
    assert (out * real).equal(made(other, valid) * real)
    (grad,) = gradients((out * real).sum(), x, None)
    assert (grad * ~real)[valid.any(1)].eq(0).all()


@pytest.mark.parametrize("name, words", CASES)
def test_padding_at_the_end_is_as_if_it_was_not_there(name, words):
    made = mixer(name, words)
    x, _ = inputs(LONGEST)
    valid = torch.arange(LONGEST).expand(len(x), -1) < 40
    torch.testing.assert_close(made(x, valid)[:, :40], made(x[:, :40], None), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name, words", CASES)
def test_batch_mates_do_not_matter(name, words):
    made = mixer(name, words)
    x, valid = inputs(LONGEST)
    alone = torch.cat([made(x[i : i + 1], valid[i : i + 1]) for i in range(len(x))])
    torch.testing.assert_close(made(x, valid), alone, rtol=1e-9, atol=1e-9)
    assert not made.batch_wide, "the classifier cuts batches by it"


@pytest.mark.parametrize("name, words", CASES)
def test_the_packed_form_says_the_same(name, words):
    made, norm = mixer(name, words), nn.LayerNorm(WIDTH).double()
    x, valid = inputs(LONGEST)
    packing = Packing(valid, batch=len(x), length=LONGEST)
    wrt = (x, *made.parameters(), *norm.parameters())
    packed = made.residual_packed(packing.pack(x), norm, packing, None)
    padded = packing.pack(x + made(norm(x), valid))
    torch.testing.assert_close(packed, padded, rtol=1e-9, atol=1e-9)
    weight = torch.randn_like(padded)
    for ours, theirs in zip(gradients(packed, wrt, weight), gradients(padded, wrt, weight), strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name, words", CASES)
def test_gradients_are_those_of_small_differences(name, words):
    made = mixer(name, words, width=4)
    torch.manual_seed(1)
    x = torch.randn(2, 3, 4, dtype=torch.float64, requires_grad=True)
    valid = torch.tensor([[True, True, True], [True, False, True]])
    names, parameters = zip(*made.named_parameters(), strict=True)

    def out(x, *values):
        state = dict(zip(names, values, strict=True))
        return torch.func.functional_call(made, state, (x, valid)) * valid[..., None]

    assert torch.autograd.gradcheck(out, (x, *parameters), fast_mode=True)


@pytest.mark.parametrize("name, words", CASES)
def test_evaluation_repeats_and_instances_share_nothing_and_state_travels(name, words):
    first, second = mixer(name, words), mixer(name, words, seed=1)
    x, valid = inputs(17)
    before = first(x, valid)
    assert not {id(p) for p in first.parameters()} & {id(p) for p in second.parameters()}
    second(2 * x, valid)
    assert first(x, valid).equal(before)
    second.load_state_dict(first.state_dict())
    assert second(x, valid).equal(before)


@pytest.mark.parametrize("name, words", CASES)
def test_mixed_precision_has_a_form(name, words):
    """As `trainer.precision=bf16-mixed` calls it."""
    made = mixer(name, words, dtype=torch.float32)
    x, valid = inputs(LONGEST, dtype=torch.float32)
    with torch.autocast("cpu", torch.bfloat16):
        out = made(x, valid)
    real = valid[..., None]
    torch.testing.assert_close(out.float() * real, made(x, valid) * real, rtol=0.1, atol=0.1)
