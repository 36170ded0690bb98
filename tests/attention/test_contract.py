"""The promises of every attention backend, for each file in conf/attention under each protocol.

The promises themselves are in `lra.testing`, where `lra check` finds them too. A backend with a YAML file is tested
without another edit here, but tests/reference/attention.py must have its slow twin under the same name. Each docstring
names small bugs that its test catches; test_planted_bugs.py plants them.
"""

from __future__ import annotations

from functools import partial

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from lra.attention.base import AttentionDims
from lra.paths import conf_dir
from lra.testing import contract
from lra.testing.contract import FORMS, LENGTHS
from lra.testing.subjects import HEAD_DIM, HEADS, AttentionSubject
from tests.reference import attention as reference

NAMES = sorted(path.stem for path in (conf_dir() / "attention").glob("*.yaml"))
PROTOCOLS = sorted(path.stem for path in (conf_dir() / "protocol").glob("*.yaml"))
CELLS = [(name, protocol) for name in NAMES for protocol in PROTOCOLS]
# The named switches through which batch-mates matter: the pseudo-inverse's start, the keys' stabiliser.
BATCH_WIDE = {("nystrom", "paper"), ("performer", "paper")}
DRAWN_TOGETHER = {
    ("reformer", "paper")
}  # each call its own rotations: not by batch-mates' contents, but by their groups
DIMS = HEAD_DIM


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


def subject(name: str, protocol: str) -> AttentionSubject:
    chosen = settings(name, protocol)
    knobs = {key: value for key, value in chosen.items() if not key.startswith("_")}
    return AttentionSubject(instantiate(chosen), knobs)


def inputs(length: int, dtype=torch.float64):
    tensors, valid = AttentionSubject(AttentionDims).inputs(length, dtype=dtype)
    return *tensors, valid


def mix(made, form: str, q, k, v, valid):
    return AttentionSubject(AttentionDims).mix(made, form, [q, k, v], valid)


@pytest.mark.parametrize("name, protocol", CELLS)
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("masked", [True, False])
@pytest.mark.parametrize("form", FORMS)
def test_outputs_and_gradients_equal_the_slow_twin(name, protocol, length, masked, form):
    """Catches `attention/nystrom.py`: `k_BHME.mT * self.dims.head_dim**-0.5` → `k_BHME.mT * self.dims.head_dim**+0.5`
    `ops/landmarks.py`: `cumsum(1) - 1` → `cumsum(1) - 0`
    `packed/segments.py`: `packing.position_T // size` → `packing.rank_T // size`
    `packed/convolution.py`: `filter_HF.flip(1)` → `filter_HF.flip(0)`
    `packed/softmax.py`: `bmm(weights_HMW.mT` → `bmm(weights_HMW.abs().sqrt().mT`
    `packed/nystrom.py`: `add(grad_1, alpha=scale)` → `add(grad_1, alpha=1)`
    `attention/linformer.py`: `permute(1, 2, 0, 3)` → `permute(1, 2, 3, 0)`
    `attention/performer.py`: `else -0.25` → `else -0.35`
    `ops/hashed_chunks.py`: `before, x_BHNKCE]` → `x_BHNKCE, x_BHNKCE]`
    `attention/performer.py`: `== "passed"` → `!= "passed"`
    `attention/none.py`: `qkv_PTD[2]` → `qkv_PTD[1]`
    """
    assert hasattr(reference, name), f"tests/reference/attention.py has no slow twin {name}()"
    twin = partial(getattr(reference, name), value_skip=None)
    contract.equals_twin(subject(name, protocol), twin=twin, length=length, masked=masked, form=form)


@pytest.mark.parametrize("name, protocol", CELLS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("form", FORMS)
def test_keeps_shape_and_dtype_and_stays_finite_for_a_row_that_is_all_padding(
    name, protocol, dtype, length, training, form
):
    """Catches `ops/softmax.py`: `torch.finfo(scores.dtype).min` → `float("-inf")`
    `ops/pseudo_inverse.py`: `TINY_NORM = 1e-12` → `TINY_NORM = 0e-12`
    `ops/hashed_chunks.py`: `PADDING = -1e5, -1e9` → `PADDING = -1e5, -1e999`
    """
    case = subject(name, protocol)
    contract.keeps_shape(case, dtype=dtype, length=length, training=training, form=form)


@pytest.mark.parametrize("name, protocol", CELLS)
@pytest.mark.parametrize("length", LENGTHS[1:])
def test_the_content_of_padding_never_reaches_a_real_token(name, protocol, length):
    """Catches `attention/nystrom.py`: `k_BHLE * real, v_BHLE * real` → `k_BHLE * real, v_BHLE * 1`
    `attention/linformer.py`: `k_BHLE * real, v_BHLE * real` → `k_BHLE * 1, v_BHLE * real`
    `ops/hashing.py`: `buckets, worth)` → `buckets, buckets)`
    """
    contract.hides_padding(subject(name, protocol), length=length)


@pytest.mark.parametrize("name, protocol", CELLS)
@pytest.mark.parametrize("form", FORMS)
def test_batch_mates_do_not_matter_but_through_the_named_switches(name, protocol, form):
    """Catches `ops/pseudo_inverse.py`: `start == "batch"` → `start != "batch"`
    `attention/performer.py`: `amax((2, 3)` → `amax((0, 3)`
    `attention/nystrom.py`: `self.pinv_start == "batch"` → `self.pinv_start != "batch"`
    `attention/performer.py`: `and self.key_maximum == "batch"` → `and self.key_maximum == "example"`
    """
    same = contract.batch_mates_change(subject(name, protocol), form=form) == 0
    assert same != ((name, protocol) in BATCH_WIDE)
    in_groups = (name, protocol) in BATCH_WIDE | DRAWN_TOGETHER
    assert backend(name, protocol, 250).batch_wide == in_groups, "the classifier cuts batches by it"


@pytest.mark.parametrize("name, protocol", CELLS)
def test_evaluation_repeats_and_instances_share_nothing(name, protocol):
    """Catches `attention/full.py`: `if self.training and` → `if True and`
    `attention/reformer.py`: `if self.training else` → `if not self.training else`
    """
    contract.repeats(subject(name, protocol))


@pytest.mark.parametrize("name, protocol", CELLS)
def test_state_travels(name, protocol):
    """Catches `attention/reformer.py`: `2**62, ()))` → `2**62, ()), 0)`
    `attention/performer.py`: `dims.head_dim))` → `dims.head_dim), 0)`
    """
    contract.state_travels(subject(name, protocol))
