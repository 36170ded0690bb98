"""The promises of every attention backend, for each file in conf/attention under each protocol.

The promises themselves are in `lra.testing`, where `lra check` finds them too. A backend with a YAML file is tested
without another edit here, but tests/reference/attention.py must have its slow twin under the same
name. planted_bugs.yaml has small bugs that each promise's test must catch.
"""

from __future__ import annotations

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import OmegaConf

from lra.attention.base import AttentionDims
from lra.paths import conf_dir
from lra.testing import contract
from lra.testing.subjects import HEAD_DIM, HEADS, AttentionSubject
from tests.reference import attention as reference

NAMES = sorted(path.stem for path in (conf_dir() / "attention").glob("*.yaml"))
PROTOCOLS = sorted(path.stem for path in (conf_dir() / "protocol").glob("*.yaml"))
# The switches through which batch-mates matter: the pseudo-inverse's start, the keys' stabiliser.
BATCH_WIDE = {"nystrom": ("pinv_start", "batch"), "performer": ("key_maximum", "batch")}
# Each call its own rotations: not by batch-mates' contents, but by their groups.
DRAWN_TOGETHER = {"reformer": ("rotations", "each_call")}
# The switches through which the length of the padding matters: segments of it, keys of zeros that are counted.
OF_PADDED_LENGTH = {
    "nystrom": ("landmarks", "padded"),
    "landmark": ("landmarks", "padded"),
    "performer": ("padded_keys", "counted"),
}
PROMISES = [promise.name for promise in contract.promises(AttentionSubject(AttentionDims), reference.full)]
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


# A protocol whose settings of an attention are those of the first one is left out: nothing else would be tested.
CELLS = [
    (name, protocol)
    for name in NAMES
    for protocol in PROTOCOLS
    if protocol == PROTOCOLS[0] or settings(name, protocol) != settings(name, PROTOCOLS[0])
]


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


def subject(name: str, protocol: str) -> AttentionSubject:
    chosen = settings(name, protocol)
    knobs = {key: value for key, value in chosen.items() if not key.startswith("_")}
    return AttentionSubject(instantiate(chosen), knobs)


def inputs(length: int, dtype=torch.float64):
    tensors, valid = AttentionSubject(AttentionDims).inputs(length, dtype=dtype)
    return *tensors, valid


def mix(made, form: str, q, k, v, valid):
    return AttentionSubject(AttentionDims).mix(made, form, [q, k, v], valid)


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("name, protocol", CELLS)
def test_keeps_its_promise(name, protocol, promise):
    assert hasattr(reference, name), f"tests/reference/attention.py has no slow twin {name}()"
    twin = getattr(reference, name)
    (promised,) = [each for each in contract.promises(subject(name, protocol), twin) if each.name == promise]
    promised.check()


def said(name: str, what: str, table: str, holds: bool) -> str:
    return f"{name}: that {what} is {holds}, but {table} at the top of this file says otherwise; mend one of the two"


@pytest.mark.parametrize("name, protocol", CELLS)
@pytest.mark.parametrize("form", contract.FORMS)
def test_batch_mates_do_not_matter_but_through_the_named_switches(name, protocol, form):
    same = contract.batch_mates_change(subject(name, protocol), form=form) == 0
    assert same != switched_on(name, protocol, BATCH_WIDE), said(name, "batch-mates matter", "BATCH_WIDE", not same)
    in_groups = switched_on(name, protocol, BATCH_WIDE | DRAWN_TOGETHER)
    batch_wide = backend(name, protocol, 250).batch_wide  # the classifier cuts batches by it
    assert batch_wide == in_groups, said(name, "batch_wide is True", "BATCH_WIDE or DRAWN_TOGETHER", batch_wide)


@pytest.mark.parametrize("name, protocol", CELLS)
def test_padding_at_the_end_does_not_matter_but_through_the_named_switches(name, protocol):
    same = contract.padded_length_change(subject(name, protocol)) == 0
    assert same != switched_on(name, protocol, OF_PADDED_LENGTH), said(
        name, "padding at the end matters", "OF_PADDED_LENGTH", not same
    )
    reads = backend(name, protocol, 250).reads_padded_length  # what `SequenceEncoder` refuses
    assert reads == switched_on(name, protocol, OF_PADDED_LENGTH), said(
        name, "reads_padded_length is True", "OF_PADDED_LENGTH", reads
    )
