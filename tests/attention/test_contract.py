"""The promises of every attention backend, for each file in conf/attention under each protocol.

A backend with a YAML file is tested without another edit here, but tests/reference/attention.py must have its slow
twin under the same name. planted_bugs.yaml has small bugs that each test must catch.
"""

from __future__ import annotations

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from lra.attention.base import AttentionDims
from lra.packed.packing import Packing
from lra.paths import conf_dir
from tests.reference import attention as reference

NAMES = sorted(path.stem for path in (conf_dir() / "attention").glob("*.yaml"))
PROTOCOLS = sorted(path.stem for path in (conf_dir() / "protocol").glob("*.yaml"))
CELLS = [(name, protocol) for name in NAMES for protocol in PROTOCOLS]
# The switches through which batch-mates matter: the pseudo-inverse's start, the keys' stabiliser.
BATCH_WIDE = {"nystrom": ("pinv_start", "batch"), "performer": ("key_maximum", "batch")}
# Each call its own rotations: not by batch-mates' contents, but by their groups.
DRAWN_TOGETHER = {"reformer": ("rotations", "each_call")}
LENGTHS = (1, 17, 250)
FORMS = ("padded", "packed")
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


def switched_on(name: str, protocol: str, switches: dict[str, tuple[str, str]]) -> bool:
    """Whether the protocol gives the attention's switch this value; one without the switch is never on."""
    if name not in switches:
        return False
    knob, value = switches[name]
    return settings(name, protocol)[knob] == value


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


def mix(made, form: str, q, k, v, valid):
    """What a backend makes, as the first call of a pass, of a padded batch, or of its real tokens alone."""
    made.train(made.training)
    if form == "padded":
        return made(q, k, v, valid)
    packing = Packing(valid, batch=len(q), length=q.shape[2])
    planes = torch.stack([packing.pack(x.transpose(1, 2).flatten(2)) for x in (q, k, v)])
    out_BLD = packing.unpack(made.forward_packed(planes, packing)[None])[0]
    return out_BLD.unflatten(2, (q.shape[1], -1)).transpose(1, 2)


@pytest.mark.parametrize("name, protocol", CELLS)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_outputs_and_gradients_equal_the_slow_twin(name, protocol, length, masked, form):
    made = backend(name, protocol, length)
    q, k, v, valid = inputs(length)
    valid = valid if masked else None
    knobs = {key: value for key, value in settings(name, protocol).items() if not key.startswith("_")}
    parameters = dict(made.named_parameters())
    state = {**parameters, **dict(made.named_buffers())}
    assert hasattr(reference, name), f"tests/reference/attention.py has no slow twin {name}()"
    slow = getattr(reference, name)(q, k, v, valid, **{"value_skip": None, **knobs, **state})
    fast = mix(made, form, q, k, v, valid)
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
@pytest.mark.parametrize("form", FORMS)
def test_keeps_shape_and_dtype_and_stays_finite_for_a_row_that_is_all_padding(
    name, protocol, dtype, length, training, form
):
    made = backend(name, protocol, length, dtype=dtype).train(training)
    q, k, v, valid = inputs(length, dtype=dtype)
    out = mix(made, form, q, k, v, valid)
    assert out.shape == q.shape
    assert out.dtype == dtype
    assert out.isfinite().all()
    for grad in torch.autograd.grad(out.sum(), (q, k, v, *made.parameters()), allow_unused=True):
        assert grad is None or grad.isfinite().all()


@pytest.mark.parametrize("name, protocol", CELLS)
@pytest.mark.parametrize("length", LENGTHS[1:])
def test_the_content_of_padding_never_reaches_a_real_token(name, protocol, length):
    made = backend(name, protocol, length)
    q, k, v, valid = inputs(length)
    real = valid[:, None, :, None]
    other = [torch.where(real, x, 100 * torch.randn_like(x)).detach() for x in (q, k, v)]
    out = mix(made, "padded", q, k, v, valid)
    assert (out * real).equal(mix(made, "padded", *other, valid) * real)
    for grad in torch.autograd.grad((out * real).sum(), (k, v), allow_unused=True):
        assert grad is None or (grad * ~real)[valid.any(1)].eq(0).all()


@pytest.mark.parametrize("name, protocol", CELLS)
@pytest.mark.parametrize("form", FORMS)
def test_batch_mates_do_not_matter_but_through_the_named_switches(name, protocol, form):
    made = backend(name, protocol, 250)
    q, k, v, valid = inputs(250)
    alone = torch.cat([mix(made, form, *(x[i : i + 1] for x in (q, k, v, valid))) for i in range(len(q))])
    among = mix(made, form, q, k, v, valid)
    same = torch.allclose(alone, among, rtol=1e-9, atol=1e-9)
    assert same != switched_on(name, protocol, BATCH_WIDE)
    in_groups = switched_on(name, protocol, BATCH_WIDE | DRAWN_TOGETHER)
    assert made.batch_wide == in_groups, "the classifier cuts batches by it"


@pytest.mark.parametrize("name, protocol", CELLS)
def test_evaluation_repeats_and_instances_share_nothing(name, protocol):
    first, second = backend(name, protocol, 17), backend(name, protocol, 17, seed=1)
    q, k, v, valid = inputs(17)
    before = mix(first, "padded", q, k, v, valid)
    for parameter in second.parameters():
        torch.nn.init.ones_(parameter)
    second(2 * q, k, v, valid)
    assert mix(first, "padded", q, k, v, valid).equal(before)
    assert not {id(p) for p in first.parameters()} & {id(p) for p in second.parameters()}


@pytest.mark.parametrize("name, protocol", CELLS)
def test_state_travels(name, protocol):
    first, second = backend(name, protocol, 17), backend(name, protocol, 17, seed=1)
    second.load_state_dict(first.state_dict())
    q, k, v, valid = inputs(17)
    assert second(q, k, v, valid).equal(first(q, k, v, valid))
