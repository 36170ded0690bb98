"""The promises of every attention backend, for each file in conf/attention under each protocol.

A backend with a YAML file is tested without another edit here, but tests/reference/attention.py must have its slow
twin under the same name. Each docstring names small bugs that its test catches; test_planted_bugs.py plants them.
"""

from __future__ import annotations

import itertools

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from lra.attention.base import AttentionDims
from lra.ops.random_features import orthogonal_gaussian
from lra.paths import conf_dir
from tests.reference import attention as reference

NAMES = sorted(path.stem for path in (conf_dir() / "attention").glob("*.yaml"))
PROTOCOLS = sorted(path.stem for path in (conf_dir() / "protocol").glob("*.yaml"))
CELLS = [(name, protocol) for name in NAMES for protocol in PROTOCOLS]
# The named switches through which batch-mates matter: the pseudo-inverse's start, the keys' stabiliser.
BATCH_WIDE = {("nystrom", "paper"), ("performer", "paper")}
LENGTHS = (1, 17, 250)
HEADS, DIMS = 2, 8


def settings(name: str, protocol: str, **knobs: object) -> dict:
    cfg = OmegaConf.create(
        {
            "attention": OmegaConf.load(conf_dir() / "attention" / f"{name}.yaml"),
            "protocol": OmegaConf.load(conf_dir() / "protocol" / f"{protocol}.yaml"),
        }
    )
    chosen = OmegaConf.to_container(cfg.attention, resolve=True)
    chosen.pop("name")
    return {**chosen, **knobs}


def backend(name: str, protocol: str, length: int, *, dtype=torch.float64, seed: int = 0, **knobs: object):
    torch.manual_seed(seed)
    dims = AttentionDims(num_heads=HEADS, head_dim=DIMS, max_seq_len=length)
    return instantiate(settings(name, protocol, **knobs))(dims).to(dtype).eval()


def inputs(length: int, batch: int = 4, dtype=torch.float64):
    torch.manual_seed(length)
    q, k, v = (torch.randn(batch, HEADS, length, DIMS, dtype=dtype, requires_grad=True) for _ in range(3))
    valid = torch.rand(batch, length) < 0.7  # holes, as black pixels make
    valid[0], valid[1] = True, torch.arange(length) < max(1, length // 2)
    valid[-1] = False
    return q, k, v, valid


@pytest.mark.parametrize("name, protocol", CELLS)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("masked", [True, False])
def test_outputs_and_gradients_equal_the_slow_twin(name, protocol, length, masked):
    """Catches `attention/nystrom.py`: `k_BHME.mT * self.dims.head_dim**-0.5` → `k_BHME.mT * self.dims.head_dim**+0.5`
    `ops/landmarks.py`: `cumsum(1) - 1` → `cumsum(1) - 0`
    `ops/banded.py`: `filter_HT.flip(1)` → `filter_HT.flip(0)`
    `attention/linformer.py`: `permute(1, 2, 0, 3)` → `permute(1, 2, 3, 0)`
    `attention/performer.py`: `else -0.25` → `else -0.35`
    `attention/reformer.py`: `roll(1, dims=3)` → `roll(2, dims=3)`
    """
    made = backend(name, protocol, length)
    q, k, v, valid = inputs(length)
    valid = valid if masked else None
    knobs = {key: value for key, value in settings(name, protocol).items() if not key.startswith("_")}
    parameters = dict(made.named_parameters())
    state = {**parameters, **dict(made.named_buffers())}
    assert hasattr(reference, name), f"tests/reference/attention.py has no slow twin {name}()"
    slow = getattr(reference, name)(q, k, v, valid, **{"value_skip": None, **knobs, **state})
    fast = made(q, k, v, valid)
    real = torch.ones_like(fast) if valid is None else valid[:, None, :, None].expand_as(fast).to(fast.dtype)
    torch.testing.assert_close(fast * real, slow * real, rtol=1e-9, atol=1e-9)
    g = torch.randn_like(fast) * real
    wrt = (q, k, v, *parameters.values())
    got, wanted = (torch.autograd.grad(out, wrt, g, materialize_grads=True) for out in (fast, slow))
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name, protocol", CELLS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("training", [False, True])
def test_keeps_shape_and_dtype_and_stays_finite_for_a_row_that_is_all_padding(name, protocol, dtype, length, training):
    """Catches `ops/softmax.py`: `valid_BL | ~valid_BL` → `valid_BL & ~valid_BL`
    `ops/pseudo_inverse.py`: `TINY_NORM = 1e-12` → `TINY_NORM = 0e-12`
    `attention/reformer.py`: `PADDING = -1e5, -1e9` → `PADDING = -1e5, -1e999`
    """
    made = backend(name, protocol, length, dtype=dtype).train(training)
    q, k, v, valid = inputs(length, dtype=dtype)
    out = made(q, k, v, valid)
    assert out.shape == q.shape
    assert out.dtype == dtype
    assert out.isfinite().all()
    for grad in torch.autograd.grad(out.sum(), (q, k, v, *made.parameters()), allow_unused=True):
        assert grad is None or grad.isfinite().all()


@pytest.mark.parametrize("name, protocol", CELLS)
@pytest.mark.parametrize("length", LENGTHS[1:])
def test_the_content_of_padding_never_reaches_a_real_token(name, protocol, length):
    """Catches `attention/nystrom.py`: `k_BHLE * real, v_BHLE * real` → `k_BHLE * real, v_BHLE * 1`
    `attention/linformer.py`: `k_BHLE * real, v_BHLE * real` → `k_BHLE * 1, v_BHLE * real`
    `ops/hashing.py`: `buckets, 2 * rotations_HENG.shape[-1]` → `buckets, buckets`
    """
    made = backend(name, protocol, length)
    q, k, v, valid = inputs(length)
    real = valid[:, None, :, None]
    other = [torch.where(real, x, 100 * torch.randn_like(x)).detach() for x in (q, k, v)]
    assert (made(q, k, v, valid) * real).equal(made(*other, valid) * real)
    for grad in torch.autograd.grad((made(q, k, v, valid) * real).sum(), (k, v), allow_unused=True):
        assert grad is None or (grad * ~real)[valid.any(1)].eq(0).all()


@pytest.mark.parametrize("name, protocol", CELLS)
def test_batch_mates_do_not_matter_but_through_the_named_switches(name, protocol):
    """Catches `ops/pseudo_inverse.py`: `start == "batch"` → `start != "batch"`
    `attention/performer.py`: `amax((2, 3)` → `amax((0, 3)`
    """
    made = backend(name, protocol, 250)
    q, k, v, valid = inputs(250)
    alone = torch.cat([made(*(x[i : i + 1] for x in (q, k, v, valid))) for i in range(len(q))])
    among = made(q, k, v, valid)
    same = torch.allclose(alone, among, rtol=1e-9, atol=1e-9)
    assert same != ((name, protocol) in BATCH_WIDE)


@pytest.mark.parametrize("name, protocol", CELLS)
def test_evaluation_repeats_and_instances_share_nothing(name, protocol):
    """Catches `attention/full.py`: `if self.training else 0.0` → `if self.training else 0.1`
    `attention/reformer.py`: `if self.training else` → `if not self.training else`
    """
    first, second = backend(name, protocol, 17), backend(name, protocol, 17, seed=1)
    q, k, v, valid = inputs(17)
    before = first(q, k, v, valid)
    for parameter in second.parameters():
        torch.nn.init.ones_(parameter)
    second(2 * q, k, v, valid)
    assert first(q, k, v, valid).equal(before)
    assert not {id(p) for p in first.parameters()} & {id(p) for p in second.parameters()}


@pytest.mark.parametrize("name, protocol", CELLS)
def test_state_travels(name, protocol):
    """Catches `attention/reformer.py`: `(dims.max_seq_len)))` → `(dims.max_seq_len)), 0)`
    `attention/performer.py`: `dims.head_dim))` → `dims.head_dim), 0)`
    """
    first, second = backend(name, protocol, 17), backend(name, protocol, 17, seed=1)
    second.load_state_dict(first.state_dict())
    q, k, v, valid = inputs(17)
    assert second(q, k, v, valid).equal(first(q, k, v, valid))


def test_nystrom_with_as_many_landmarks_as_tokens_is_exact_attention():
    """Catches `ops/pseudo_inverse.py`: `(13 * eye` → `(12 * eye`

    At 12 iterations an error of 5e-4 remains.
    """
    length = 40
    made = backend("nystrom", "clean", length, num_landmarks=length, pinv_iterations=20, value_skip_taps=0)
    q, k, v, _ = inputs(length)
    torch.testing.assert_close(made(q, k, v, None), reference.full(q, k, v, None), rtol=1e-6, atol=1e-6)


def test_nystrom_with_more_landmarks_than_padded_positions_is_exact_attention():
    """Catches `attention/nystrom.py`: `self.num_landmarks >= q` → `self.num_landmarks <= q`"""
    made = backend("nystrom", "paper", 40, num_landmarks=64, value_skip_taps=0)
    q, k, v, valid = inputs(40)
    real = valid[:, None, :, None]
    torch.testing.assert_close(made(q, k, v, valid) * real, reference.full(q, k, v, valid) * real)


def test_nystrom_with_the_exact_pseudo_inverse_equals_its_twin():
    """Catches `attention/nystrom.py`: `self.pinv == "exact"` → `self.pinv != "exact"`"""
    made = backend("nystrom", "clean", 17, num_landmarks=4, pinv="exact")
    q, k, v, valid = inputs(17)
    knobs = settings("nystrom", "clean", num_landmarks=4, pinv="exact")
    slow = reference.nystrom(q, k, v, valid, value_skip=made.value_skip, **knobs)
    real = valid[:, None, :, None]
    torch.testing.assert_close(made(q, k, v, valid) * real, slow * real)


def test_the_math_kernel_of_full_is_the_fused_one():
    """Catches `attention/full.py`: `head_dim**-0.5` → `head_dim**-0.4`"""
    q, k, v, valid = inputs(17)
    fused, math = (backend("full", "paper", 17, kernel=kernel) for kernel in ("fused", "math"))
    real = valid[:, None, :, None]
    torch.testing.assert_close(fused(q, k, v, valid) * real, math(q, k, v, valid) * real)


@pytest.mark.parametrize(
    "name, knobs, word",
    [
        ("full", {"kernel": "flash"}, "attention.kernel=fused"),
        ("full", {"attention_dropout": 1.0}, "attention.attention_dropout=0.1"),
        ("nystrom", {"num_landmarks": 0}, "at least 1"),
        ("linformer", {"projections": 0}, "at least 1"),
        ("linformer", {"sharing": "some"}, "all, layer, none"),
        ("performer", {"features": 0}, "at least 1"),
        ("reformer", {"num_hashes": 0}, "at least 1"),
        ("reformer", {"chunk_length": 0}, "at least 1"),
        ("performer", {"kernel": "elu"}, "softmax, relu"),
        ("performer", {"scaling": "thrice"}, "twice, once"),
        ("performer", {"key_maximum": "head"}, "batch, per_head"),
        ("performer", {"padded_keys": "kept"}, "counted, masked"),
        ("performer", {"redraw_every": -1}, "redraw_every=0"),
        ("nystrom", {"landmarks": "all"}, "padded, valid"),
        ("nystrom", {"pinv": "svd"}, "iterative, exact"),
        ("nystrom", {"pinv_start": "zero"}, "batch, per_matrix"),
        ("nystrom", {"value_skip_taps": 34}, "not odd"),
    ],
)
def test_a_wrong_knob_says_what_would_be_right(name, knobs, word):
    """Catches `attention/reformer.py`: `if count < 1` → `if count < 0`
    `attention/performer.py`: `redraw_every < 0` → `redraw_every < -1`
    """
    with pytest.raises(Exception, match=word):
        backend(name, "paper", 17, **knobs)


@pytest.mark.parametrize("sharing, parameters", [("all", 1), ("layer", 1), ("none", 2)])
def test_linformer_shares_what_its_setting_says(sharing, parameters):
    """Catches `attention/linformer.py`: `self.sharing == "all"` → `self.sharing != "all"`"""
    first, second = (backend("linformer", "paper", 17, seed=seed, sharing=sharing) for seed in (0, 1))
    second.share_with(first)
    assert len(list(first.parameters())) == parameters
    assert (second.project_keys is first.project_keys) == (sharing == "all")
    q, k, v, valid = inputs(17)
    slow = reference.linformer(q, k, v, valid, **dict(second.named_parameters()))
    torch.testing.assert_close(second(q, k, v, valid), slow)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("masked", [True, False])
def test_performer_with_relu_features_equals_its_twin(protocol, masked):
    """Catches `ops/random_features.py`: `projection_RE.T) + epsilon)` → `projection_RE.T) - epsilon)`"""
    made = backend("performer", protocol, 17, kernel="relu", features=20)
    q, k, v, valid = inputs(17)
    valid = valid if masked else None
    knobs = settings("performer", protocol, kernel="relu")
    slow = reference.performer(q, k, v, valid, projection=made.projection, **knobs)
    torch.testing.assert_close(made(q, k, v, valid), slow)


@pytest.mark.parametrize("scaling, power", [("once", 0.5), ("twice", 1.0)])
def test_performer_approaches_the_softmax_that_its_scaling_names(scaling, power):
    """Catches `attention/performer.py`: `else -0.25` → `else -0.5`
    `ops/random_features.py`: `keepdim=True) / 2` → `keepdim=True) / 1`
    """
    made = backend("performer", "clean", 40, scaling=scaling, features=20_000)
    q, k, v, _ = inputs(40)
    q, k = 0.7 * q, 0.7 * k  # larger ones need more features than a test can wait for
    exact = reference.softmax_rows(q @ k.mT / DIMS**power) @ v
    other = reference.softmax_rows(q @ k.mT / DIMS ** (1.5 - power)) @ v
    error, other_error = ((made(q, k, v, None) - x).abs().mean().item() for x in (exact, other))
    assert error < 0.05 * v.abs().mean().item()
    assert error < other_error / 1.5


def test_performer_redraws_when_it_says_and_the_draw_travels_with_the_state():
    """Catches `attention/performer.py`: `% self.redraw_every == 0` → `% self.redraw_every == 1`"""
    made = backend("performer", "paper", 17, redraw_every=2).train()
    q, k, v, valid = inputs(17)
    draws = []
    for _ in range(5):
        made(q, k, v, valid)
        draws.append(made.projection.clone())
    same = [one.equal(other) for one, other in itertools.pairwise(draws)]
    assert same == [True, False, True, False]
    made.eval()(q, k, v, valid)
    assert made.projection.equal(draws[-1])


def test_random_features_are_orthogonal_with_gaussian_lengths():
    """Catches `ops/random_features.py`: `[0].T` → `[1].T`"""
    rows = orthogonal_gaussian(64, 16).double()
    block = rows[:16] @ rows[:16].T
    assert (block - block.diag().diag()).abs().max() < 1e-4
    many = orthogonal_gaussian(4096, 16)
    assert many.square().sum(1).mean().item() == pytest.approx(16, rel=0.05)


def test_reformer_in_one_chunk_is_attention_with_unit_keys_but_to_oneself():
    """Catches `attention/reformer.py`: `SELF, PADDING = -1e5` → `SELF, PADDING = -0e5`"""
    made = backend("reformer", "paper", 30)
    q, k, v, _ = inputs(30)
    scores = q @ (q / q.norm(dim=-1, keepdim=True)).mT
    expected = scores.masked_fill(torch.eye(30, dtype=torch.bool), -1e5).softmax(-1) @ v
    torch.testing.assert_close(made(q, k, v, None), expected)


def test_reformer_draws_new_rotations_in_training_alone():
    """Catches `attention/reformer.py`: `if self.training else` → `if not self.training else`"""
    made = backend("reformer", "paper", 250)
    q, k, v, valid = inputs(250)
    assert made(q, k, v, valid).equal(made(q, k, v, valid))
    made.train()
    assert not made(q, k, v, valid).equal(made(q, k, v, valid))
