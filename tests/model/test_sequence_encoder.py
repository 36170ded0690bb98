"""The encoder of real-valued sequences: which positions count, whatever mixes them."""

import inspect
import subprocess
import sys

import pytest
import torch

import lra
from lra.base.paths import conf_names
from lra.tools.sequence_encoder import SequenceEncoder
from tests.conftest import ROOT

LENGTH, DIMS, WIDTH = 23, 5, 16
METHODS = [f"attention={name}" for name in conf_names("attention")]
METHODS += [f"mixer={name}" for name in conf_names("mixer") if name != "attention"]


def encoder_of(method: str | None = None, *, seed: int = 0, **settings) -> SequenceEncoder:
    """Build a small encoder in evaluation mode and float64, with weights that do not begin as ones and zeros."""
    torch.manual_seed(seed)
    small = {"embed_dim": DIMS, "hidden_size": WIDTH, "num_layers": 2, "num_heads": 2, "window_size": LENGTH}
    if method is None:
        settings = {"num_landmarks": 4, **settings}
    else:
        settings = {"make_mixers": lra.build_mixers(lra.compose(method, "protocol=clean")), **settings}
    encoder = SequenceEncoder.build(**{**small, **settings}).double().eval()
    for parameter in encoder.parameters():
        parameter.data.add_(torch.randn_like(parameter), alpha=0.1)
    return encoder


def ragged() -> tuple[torch.Tensor, torch.Tensor]:
    """No padding, padding at the end, at the beginning, holes, one position, none."""
    torch.manual_seed(1)
    x, place = torch.randn(6, LENGTH, DIMS, dtype=torch.float64), torch.arange(LENGTH)
    rows = [place >= 0, place < 11, place >= 9, (place % 3 > 0) & (place < 20), place == 7, place < 0]
    return x, torch.stack(rows)


@pytest.mark.some_fast(12)
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("pooling", ["last", "mean"])
@pytest.mark.parametrize("method", METHODS)
def test_every_method_gives_a_vector_per_sequence_and_padding_never_matters(method, pooling, packed):
    encoder = encoder_of(method, pooling=pooling)
    x, mask = ragged()
    expected = encoder(x, mask, packed=packed)
    assert expected.shape == (6, WIDTH)
    assert expected[:5].abs().sum(1).min() > 0.1
    assert expected[5].tolist() == [0] * WIDTH, "nothing real, so zeros"
    other = x.clone()
    other[~mask] = torch.tensor([float("nan"), float("inf"), 1e9, -3, 0]).double()
    torch.testing.assert_close(encoder(other, mask, packed=packed), expected, rtol=0, atol=0)


@pytest.mark.some_fast(6)
@pytest.mark.parametrize("method", METHODS)
def test_other_examples_of_the_batch_do_not_matter_and_evaluation_repeats(method):
    encoder = encoder_of(method, dropout=0.5)
    x, mask = ragged()
    expected = encoder(x, mask)
    alone = torch.cat([encoder(x[i : i + 1], mask[i : i + 1]) for i in range(len(x))])
    torch.testing.assert_close(alone, expected, rtol=1e-9, atol=1e-10)
    torch.manual_seed(9)
    assert encoder.eval()(x, mask).equal(expected)


@pytest.mark.some_fast(12)
@pytest.mark.parametrize("pooling", ["last", "mean"])
@pytest.mark.parametrize("method", METHODS)
def test_packed_equals_padded_with_its_gradients(method, pooling):
    encoder, (x, mask) = encoder_of(method, pooling=pooling), ragged()
    results = []
    for packed in (True, False):
        x.requires_grad_()
        out = encoder(x, mask, packed=packed)
        wanted = [x, *encoder.parameters()]
        results.append((out, *torch.autograd.grad(out.square().sum(), wanted, materialize_grads=True)))
    for of_packed, of_padded in zip(*results, strict=True):
        torch.testing.assert_close(of_packed, of_padded, rtol=1e-7, atol=1e-9)
    of_input = results[0][1]
    assert of_input[~mask].eq(0).all()
    if method not in ("attention=none", "attention=local") or pooling == "mean":  # these two see only near positions
        assert of_input[0].abs().sum(1).gt(0).all()


@pytest.mark.parametrize("packed", [True, False])
def test_the_vector_is_that_of_the_last_real_position(packed):
    """Without mixing, it depends on this position alone."""
    encoder = encoder_of("attention=none")
    x, mask = ragged()
    last = [LENGTH - 1, 10, LENGTH - 1, 19, 7]
    x.requires_grad_()
    encoder(x, mask, packed=packed).square().sum().backward()
    touched = x.grad.abs().sum(2).gt(0)
    assert [row.nonzero().flatten().tolist() for row in touched] == [*([place] for place in last), []]


def test_lengths_are_a_mask_and_nothing_is_all_real():
    encoder, (x, _) = encoder_of(), ragged()
    lengths = torch.tensor([LENGTH, 11, 1, 20, 7, 0])
    mask = torch.arange(LENGTH) < lengths[:, None]
    assert encoder(x, lengths=lengths).equal(encoder(x, mask))
    torch.testing.assert_close(encoder(x), encoder(x, torch.ones_like(mask)))


@pytest.mark.some_fast(12)
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_the_length_of_the_padding_at_the_end_does_not_matter(method, packed):
    encoder, (x, mask) = encoder_of(method), ragged()
    expected = encoder(x, mask, packed=packed)[1:2]
    torch.testing.assert_close(encoder(x[1:2, :11], packed=packed), expected, rtol=1e-9, atol=1e-10)
    torch.testing.assert_close(encoder(x[1:2, :17], mask[1:2, :17], packed=packed), expected, rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("pooling", ["last", "mean"])
@pytest.mark.parametrize("method", [None, "attention=full", "mixer=s4d"])
def test_a_batch_of_nothing_but_padding_is_zeros_and_trains(method, pooling, packed):
    encoder, (x, mask) = encoder_of(method, pooling=pooling).train(), ragged()
    out = encoder(x, torch.zeros_like(mask), packed=packed)
    out.sum().backward()
    assert out.tolist() == [[0] * WIDTH] * 6
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in encoder.parameters())


def test_position_matters_and_so_does_each_landmark_setting():
    x, mask = ragged()
    assert not encoder_of("attention=full")(x, mask).allclose(encoder_of("attention=full")(x.flip(1), mask.flip(1)))
    outs = [encoder_of(**words)(x, mask) for words in ({}, {"landmark_source": "keys"}, {"num_landmarks": 3})]
    assert not outs[0].allclose(outs[1])
    assert not outs[0].allclose(outs[2])


def test_the_default_is_nystrom_as_its_file_says():
    by_name = encoder_of("attention=nystrom", num_layers=1)
    default = encoder_of(num_landmarks=64, num_layers=1)
    landmarks = ["attention.num_landmarks=64", "attention.landmark_source=keys"]
    cfg = lra.compose("attention=nystrom", "protocol=clean", *landmarks)
    of_keys = encoder_of(make_mixers=lra.build_mixers(cfg), num_landmarks=32, num_layers=1)
    x, mask = ragged()
    assert default(x, mask).equal(by_name(x, mask))
    assert encoder_of(num_landmarks=64, landmark_source="keys", num_layers=1)(x, mask).equal(of_keys(x, mask))


def test_build_has_the_defaults_that_it_recommends():
    encoder = SequenceEncoder.build(embed_dim=7)
    defaults = SequenceEncoder.recommended_defaults()
    assert defaults == {
        "hidden_size": 256,
        "num_landmarks": 32,
        "num_layers": 4,
        "num_heads": 4,
        "dropout": 0.1,
        "window_size": 60,
        "landmark_source": "both",
        "pooling": "last",
    }
    assert defaults.keys() < inspect.signature(SequenceEncoder.build).parameters.keys()
    again = SequenceEncoder.build(embed_dim=7, **defaults)
    assert encoder.output_size() == again.output_size() == 256
    assert encoder.param_count() == again.param_count() == sum(weight.numel() for weight in encoder.parameters())
    assert encoder(torch.randn(2, 60, 7)).shape == (2, 256)


def test_dropout_acts_in_training_alone():
    encoder, (x, mask) = encoder_of(dropout=0.5), ragged()
    for packed in (True, False):
        quiet = encoder.eval()(x, mask, packed=packed)
        assert not encoder.train()(x, mask, packed=packed).allclose(quiet)


def test_saved_weights_give_the_same_vectors(tmp_path):
    x, mask = ragged()
    for method in (None, "attention=performer", "attention=reformer", "mixer=gated"):
        encoder, other = encoder_of(method), encoder_of(method, seed=1)
        assert not other(x, mask).allclose(encoder(x, mask)), method
        torch.save(encoder.state_dict(), tmp_path / "weights.pt")
        other.load_state_dict(torch.load(tmp_path / "weights.pt", weights_only=True))
        assert other(x, mask).equal(encoder(x, mask)), method


@pytest.mark.slow
@pytest.mark.exhaustive
def test_it_learns_what_only_the_first_position_says():
    """Far from the last position, so that something must be carried."""
    torch.manual_seed(0)
    encoder = SequenceEncoder.build(embed_dim=2, hidden_size=16, num_layers=1, num_heads=2, num_landmarks=8, dropout=0)
    head = torch.nn.Linear(16, 1)
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=5e-3)
    losses = []
    for _ in range(150):
        x, lengths = torch.randn(32, 60, 2), torch.randint(30, 61, (32,))
        loss = (head(encoder(x, lengths=lengths))[:, 0] - x[:, 0, 0]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert sum(losses[-10:]) / 10 < 0.3


@pytest.mark.slow
def test_neither_hydra_nor_lightning_is_needed():
    absent = ("hydra", "omegaconf", "pytorch_lightning", "lightning_fabric", "torchmetrics", "wandb")
    code = (
        f"import sys\nfor name in {absent}:\n    sys.modules[name] = None\n"
        "import torch\nfrom lra.tools.sequence_encoder import SequenceEncoder\n"
        "encoder = SequenceEncoder.build(embed_dim=3, hidden_size=8, num_heads=2)\n"
        "print(*encoder(torch.zeros(2, 60, 3)).shape)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "2 8"), done.stderr
    assert lra.SequenceEncoder is SequenceEncoder


def test_mixed_precision_runs():
    encoder, (x, mask) = encoder_of().float(), ragged()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed = encoder(x.bfloat16(), mask)
    torch.testing.assert_close(mixed.double(), encoder.double()(x, mask), rtol=0.1, atol=0.2)


@pytest.mark.slow
@pytest.mark.parametrize("method, pooling", [(None, "last"), ("mixer=s4d", "mean")])
def test_it_is_one_graph_with_the_same_numbers(method, pooling):
    torch._dynamo.reset()
    encoder, (x, mask) = encoder_of(method, pooling=pooling), ragged()
    plain = encoder(x, mask)
    compiled = torch.compile(encoder, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x, mask), plain, rtol=1e-7, atol=1e-9)
    torch.testing.assert_close(compiled(x, lengths=mask.sum(1)), encoder(x, lengths=mask.sum(1)))
    torch._dynamo.reset()


@pytest.mark.slow
def test_the_compiler_of_this_machine_gives_the_same_numbers_and_gradients():
    torch._dynamo.reset()
    encoder, (x, mask) = encoder_of(), ragged()
    results = []
    for call in (encoder, torch.compile(encoder, fullgraph=True)):
        out = call(x, mask)
        results.append((out, *torch.autograd.grad(out.square().sum(), list(encoder.parameters()))))
    for plain, compiled in zip(*results, strict=True):
        torch.testing.assert_close(compiled, plain, rtol=1e-6, atol=1e-8)
    torch._dynamo.reset()
