"""The promises of every attention backend, for each file in conf/attention under each protocol.

A backend with a YAML file is tested without another edit here, but its slow twin must be named in TWINS.
"""

from __future__ import annotations

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from lra.attention.base import AttentionDims
from lra.paths import conf_dir
from tests.reference import attention as reference

NAMES = sorted(path.stem for path in (conf_dir() / "attention").glob("*.yaml"))
PROTOCOLS = sorted(path.stem for path in (conf_dir() / "protocol").glob("*.yaml"))
CELLS = [(name, protocol) for name in NAMES for protocol in PROTOCOLS]
TWINS = {"full": reference.full, "nystrom": reference.nystrom}
BATCH_WIDE = {("nystrom", "paper")}  # the named switches through which batch-mates matter
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
    """Catches: nystrom.py, `* self.dims.head_dim**-0.5` → `**+0.5`; landmarks.py, `- 1` of the rank left out."""
    made = backend(name, protocol, length)
    q, k, v, valid = inputs(length)
    valid = valid if masked else None
    knobs = {key: value for key, value in settings(name, protocol).items() if not key.startswith("_")}
    parameters = dict(made.named_parameters())
    slow = TWINS[name](q, k, v, valid, **{"value_skip": None, **knobs, **parameters})
    fast = made(q, k, v, valid)
    real = torch.ones_like(fast) if valid is None else valid[:, None, :, None].expand_as(fast).to(fast.dtype)
    torch.testing.assert_close(fast * real, slow * real, rtol=1e-9, atol=1e-9)
    g = torch.randn_like(fast) * real
    wrt = (q, k, v, *parameters.values())
    got, wanted = (torch.autograd.grad(out, wrt, g, allow_unused=True) for out in (fast, slow))
    for one, other in zip(got, wanted, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-8)


@pytest.mark.parametrize("name, protocol", CELLS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("training", [False, True])
def test_keeps_shape_and_dtype_and_stays_finite_for_a_row_that_is_all_padding(name, protocol, dtype, length, training):
    """Catches: softmax.py, `| ~valid_BL.any` → `& ~valid_BL.any`; pseudo_inverse.py, TINY_NORM = 0."""
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
    """Catches: nystrom.py, `v_BHLE * real` → `v_BHLE` (through the value skip); full.py, attn_mask=None."""
    made = backend(name, protocol, length)
    q, k, v, valid = inputs(length)
    real = valid[:, None, :, None]
    other = [torch.where(real, x, 100 * torch.randn_like(x)).detach() for x in (q, k, v)]
    assert (made(q, k, v, valid) * real).equal(made(*other, valid) * real)
    for grad in torch.autograd.grad((made(q, k, v, valid) * real).sum(), (k, v)):
        assert (grad * ~real)[valid.any(1)].eq(0).all()


@pytest.mark.parametrize("name, protocol", CELLS)
def test_batch_mates_do_not_matter_but_through_the_named_switches(name, protocol):
    """Catches: pseudo_inverse.py, `start == "batch"` → `start != "batch"`."""
    made = backend(name, protocol, 250)
    q, k, v, valid = inputs(250)
    alone = torch.cat([made(*(x[i : i + 1] for x in (q, k, v, valid))) for i in range(len(q))])
    among = made(q, k, v, valid)
    same = torch.allclose(alone, among, rtol=1e-9, atol=1e-9)
    assert same != ((name, protocol) in BATCH_WIDE)


@pytest.mark.parametrize("name, protocol", CELLS)
def test_evaluation_repeats_and_instances_share_nothing(name, protocol):
    """Catches: full.py, `if self.training else 0.0` → `else 0.1`; nystrom.py, the filter as a class attribute."""
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
    """Catches: nystrom.py, `nn.Parameter(...)` → a plain tensor."""
    first, second = backend(name, protocol, 17), backend(name, protocol, 17, seed=1)
    second.load_state_dict(first.state_dict())
    q, k, v, valid = inputs(17)
    assert second(q, k, v, valid).equal(first(q, k, v, valid))


def test_nystrom_with_as_many_landmarks_as_tokens_is_exact_attention():
    """Catches: pseudo_inverse.py, `13 * eye` → `12 * eye`. At 12 iterations an error of 5e-4 remains."""
    length = 40
    made = backend("nystrom", "clean", length, num_landmarks=length, pinv_iterations=20, value_skip_taps=0)
    q, k, v, _ = inputs(length)
    torch.testing.assert_close(made(q, k, v, None), reference.full(q, k, v, None), rtol=1e-6, atol=1e-6)


def test_nystrom_with_more_landmarks_than_padded_positions_is_exact_attention():
    made = backend("nystrom", "paper", 40, num_landmarks=64, value_skip_taps=0)
    q, k, v, valid = inputs(40)
    real = valid[:, None, :, None]
    torch.testing.assert_close(made(q, k, v, valid) * real, reference.full(q, k, v, valid) * real)


def test_nystrom_with_the_exact_pseudo_inverse_equals_its_twin():
    made = backend("nystrom", "clean", 17, num_landmarks=4, pinv="exact")
    q, k, v, valid = inputs(17)
    knobs = settings("nystrom", "clean", num_landmarks=4, pinv="exact")
    slow = reference.nystrom(q, k, v, valid, value_skip=made.value_skip, **knobs)
    real = valid[:, None, :, None]
    torch.testing.assert_close(made(q, k, v, valid) * real, slow * real)


def test_the_math_kernel_of_full_is_the_fused_one():
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
        ("nystrom", {"landmarks": "all"}, "padded, valid"),
        ("nystrom", {"pinv": "svd"}, "iterative, exact"),
        ("nystrom", {"pinv_start": "zero"}, "batch, per_matrix"),
        ("nystrom", {"value_skip_taps": 34}, "not odd"),
    ],
)
def test_a_wrong_knob_says_what_would_be_right(name, knobs, word):
    with pytest.raises(Exception, match=word):
        backend(name, "paper", 17, **knobs)
