"""Methods in `torch.func` and `torch.export`: the numbers of the encoder by itself, or one line."""

from functools import cache

import pytest
import torch
from torch.autograd import forward_ad
from torch.autograd.functional import jacobian
from torch.func import functional_call, grad, jacfwd, jacrev, jvp, stack_module_state, vmap

import lra
from lra.base.paths import conf_names

WINDOW, DIMS = 64, 6
LENGTHS = torch.tensor([3, 12, 7])
MASK = torch.arange(12) < LENGTHS[:, None]
X = torch.randn(3, 12, DIMS, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
SMALL = {  # so that a dozen positions are several blocks, or more than there are landmarks
    "bigbird": "attention.block_length=4",
    "local": "attention.block_length=4",
    "longformer": "attention.window=4",
    "reformer": "attention.chunk_length=4",
    "skyformer": "attention.num_landmarks=8",
    "nystrom": "attention.num_landmarks=8",
    "landmark": "attention.num_landmarks=8",
}
METHODS = {name: [f"attention={name}", *([SMALL[name]] if name in SMALL else [])] for name in conf_names("attention")}
METHODS |= {name: [f"mixer={name}"] for name in conf_names("mixer") if name != "attention"}
METHODS["redrawn"] = ["attention=performer", "attention.redraw_every=1"]
METHODS["math"] = ["attention=full", "attention.kernel=math"]
METHODS |= {rule: [*METHODS["nystrom"], f"attention.landmark_rule={rule}"] for rule in ("strided", "random", "kmeans")}
METHODS |= {pinv: [*METHODS["nystrom"], f"attention.pinv={pinv}"] for pinv in ("exact", "regularised")}
METHODS["coarse"] = [*METHODS["regularised"], "attention.coarse_landmarks=3"]

SEEDED = {"reformer", "skyformer", "random"}  # a seed has no value in torch.export, nor in vmap over modules
LENGTH_IS_KEPT = {"bigbird", "local", "longformer", "linformer", "kmeans", "s4d", "gated", "mamba2"}  # by torch.export

every_method = pytest.mark.parametrize("method", METHODS)


@cache
def mixers_of(method: str):
    return lra.build_mixers(lra.compose(*METHODS[method], "protocol=clean"))


def encoder_of(method: str, **settings) -> lra.SequenceEncoder:
    torch.manual_seed(0)
    sizes = {"embed_dim": DIMS, "hidden_size": 16, "num_heads": 2, "window_size": WINDOW, "num_layers": 1}
    return lra.SequenceEncoder.build(make_mixers=mixers_of(method), **{**sizes, **settings}).eval().double()


def sequences(batch: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.randn(batch, length, DIMS, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    return x, torch.arange(length) < torch.linspace(1, length, batch).int()[:, None]


def gradients_per_sequence(encoder, **options):
    weights = {name: weight.detach() for name, weight in encoder.named_parameters()}

    def loss(weights, x_LI, mask_L):
        return functional_call(encoder, weights, (x_LI[None], mask_L[None])).square().sum()

    return vmap(grad(loss), in_dims=(None, 0, 0), **options)(weights, X, MASK)


@pytest.mark.some_fast(6)
@pytest.mark.some_in_ci(9)
@every_method
def test_gradients_per_sequence(method):
    encoder = encoder_of(method)
    together = gradients_per_sequence(encoder)
    for i in range(3):
        encoder(X[i : i + 1], MASK[i : i + 1]).square().sum().backward()
        for name, weight in encoder.named_parameters():
            expected = torch.zeros_like(weight) if weight.grad is None else weight.grad
            torch.testing.assert_close(together[name][i], expected, msg=name)
        encoder.zero_grad()


@pytest.mark.some_fast(6)
@pytest.mark.some_in_ci(9)
@every_method
def test_vmap_over_sequences_and_lengths(method):
    encoder = encoder_of(method)
    one_by_one = vmap(lambda x_LI, length: encoder(x_LI[None], lengths=length[None])[0])(X, LENGTHS)
    torch.testing.assert_close(one_by_one, encoder(X, lengths=LENGTHS))


@pytest.mark.some_fast(6)
@pytest.mark.some_in_ci(9)
@every_method
def test_vmap_over_encoders_with_their_seeds(method):
    encoder = encoder_of(method)
    states = stack_module_state([encoder, encoder])

    def outputs():
        return vmap(lambda weights, buffers: functional_call(encoder, (weights, buffers), (X, MASK)))(*states)

    if method in SEEDED:
        with pytest.raises(lra.UserError) as refused:
            outputs()
        assert refused.value.kind == "unreadable_seed"
        assert "\n" not in str(refused.value)
    else:
        torch.testing.assert_close(outputs()[1], encoder(X, MASK))


@pytest.mark.some_fast(4)
@pytest.mark.some_in_ci(9)
@every_method
def test_derivatives_in_forward_mode_equal_those_of_a_backward_pass(method):
    encoder = encoder_of(method)
    direction = torch.ones_like(X)
    jacobian_BDBLI = jacobian(lambda x: encoder(x, MASK), X)
    expected = (jacobian_BDBLI * direction).sum((2, 3, 4))
    out, derivative = jvp(lambda x: encoder(x, MASK), (X,), (direction,))
    torch.testing.assert_close(out, encoder(X, MASK))
    torch.testing.assert_close(derivative, expected)
    with forward_ad.dual_level():
        dual = forward_ad.unpack_dual(encoder(forward_ad.make_dual(X, direction), MASK)).tangent
    torch.testing.assert_close(dual, expected)
    for transform in (jacrev, jacfwd):
        torch.testing.assert_close(transform(lambda x: encoder(x, MASK))(X), jacobian_BDBLI)


@pytest.mark.some_fast(6)
@pytest.mark.some_in_ci(9)
@every_method
def test_vmap_in_training_asks_whether_sequences_share_random_numbers(method):
    encoder = encoder_of(method, dropout=0.5).train()
    with pytest.raises(RuntimeError, match="randomness"):
        gradients_per_sequence(encoder)
    for randomness in ("different", "same"):
        gradients = gradients_per_sequence(encoder, randomness=randomness)
        assert all(weight.isfinite().all() for weight in gradients.values())


def test_performer_keeps_features_that_vmap_redraws():
    encoder = encoder_of("redrawn").train()
    for _ in range(3):
        gradients_per_sequence(encoder, randomness="different")
    assert encoder.eval()(X, MASK).isfinite().all()


@pytest.mark.some_fast(1)
@every_method
def test_an_exported_program_takes_other_values_and_batches(method):
    encoder = encoder_of(method)
    batch = {0: torch.export.Dim("batch", min=2)}

    def exported():
        return torch.export.export(encoder, (X, MASK), dynamic_shapes=(batch, batch)).module()

    if method in SEEDED:
        with pytest.raises(lra.UserError) as refused:
            exported()
        assert refused.value.kind == "unreadable_seed"
    else:
        program = exported()
        for inputs in (sequences(3, 12), sequences(40, 12)):
            torch.testing.assert_close(program(*inputs), encoder(*inputs))


@pytest.mark.some_fast(1)
@every_method
def test_an_exported_program_takes_other_lengths_or_says_that_it_keeps_the_length(method):
    encoder = encoder_of(method)
    length = {1: torch.export.Dim("length", min=2, max=WINDOW)}

    def exported():
        return torch.export.export(encoder, (X, MASK), dynamic_shapes=(length, length)).module()

    if method in SEEDED | LENGTH_IS_KEPT:
        with pytest.raises(lra.UserError) as refused:
            exported()
        assert refused.value.kind == ("unreadable_seed" if method in SEEDED else "open_length")
        assert "\n" not in str(refused.value)
    else:
        program = exported()
        for inputs in (sequences(3, 5), sequences(3, WINDOW)):
            torch.testing.assert_close(program(*inputs), encoder(*inputs))
