"""The promises of every attention backend, for each file in conf/attention under each protocol.

The promises themselves are in `lra.tools.testing`, where `lra check` finds them too. A backend with a YAML file is
tested without another edit here, but a file in tests/reference must have its slow twin under the same name. What a
backend says of itself (`batch_wide`, `reads_padded_length`) is compared with what it does, under every declared choice
of every option. planted_bugs.yaml has small bugs that each promise's test must catch.
"""

from itertools import product
from typing import Any

import pytest
import torch
from hydra.utils import get_object, instantiate

from lra.attention.base import AttentionDims, options_of
from lra.base.option_types import choices_of
from lra.base.paths import conf_names, read_choice
from lra.settings.declared import declared_types
from lra.tools.testing import contract
from lra.tools.testing.subjects import HEAD_DIM, HEADS, AttentionSubject
from lra.types import UserError
from tests.reference import twin

NAMES, PROTOCOLS = conf_names("attention"), conf_names("protocol")
PROMISES = [promise.name for promise in contract.promises(AttentionSubject(AttentionDims), twin("full"))]
DIMS = HEAD_DIM


def settings(name: str, protocol: str, **knobs: object) -> dict:
    fixed = {"_target_": read_choice("attention", name)["_target_"], "_partial_": True}
    return {**fixed, **options_of(name, protocol=protocol), **knobs}


# A protocol whose settings of an attention are those of the first one is left out: nothing else would be tested.
CELLS = [
    (name, protocol)
    for name in NAMES
    for protocol in PROTOCOLS
    if protocol == PROTOCOLS[0] or settings(name, protocol) != settings(name, PROTOCOLS[0])
]


def backend(name: str, protocol: str, length: int, *, dtype=torch.float64, seed: int = 0, **knobs: object):
    torch.manual_seed(seed)
    dims = AttentionDims(num_heads=HEADS, head_dim=DIMS, max_seq_len=length)
    return instantiate(settings(name, protocol, **knobs))(dims).to(dtype).eval()


def subject(name: str, protocol: str) -> AttentionSubject:
    return subject_of(settings(name, protocol))


def subject_of(chosen: dict) -> AttentionSubject:
    knobs = {key: value for key, value in chosen.items() if not key.startswith("_")}
    return AttentionSubject(instantiate(chosen), knobs)


def inputs(length: int, dtype=torch.float64):
    tensors, valid = AttentionSubject(AttentionDims).inputs(length, dtype=dtype)
    return *tensors, valid


def mix(made, form: str, q, k, v, valid):
    return AttentionSubject(AttentionDims).mix(made, form, [q, k, v], valid)


@pytest.mark.some_fast(54)
@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("name, protocol", CELLS)
def test_keeps_its_promise(name, protocol, promise):
    (promised,) = [each for each in contract.promises(subject(name, protocol), twin(name)) if each.name == promise]
    promised.check()


def words_of(kind: object) -> tuple[object, ...]:
    """The values of a type that has a few of them: words, or true and false."""
    return (False, True) if kind is bool else choices_of(kind)


def every_choice(name: str) -> list[Any]:
    """The settings of an attention under each protocol, and (slow) each choice of each option in turn."""
    bases = [settings(name, protocol) for cell, protocol in CELLS if cell == name]
    kinds, _ = declared_types(get_object(bases[0]["_target_"]))
    tried = list(bases)
    for base, (option, kind) in product(bases, kinds.items()):
        changed = [{**base, option: value} for value in words_of(kind)]
        tried += [each for each in changed if each not in tried and can_be_made(each)]
    return [
        pytest.param(
            name,
            chosen,
            id=",".join([name, *(f"{key}={value}" for key, value in chosen.items() if value != bases[0][key])]),
            marks=() if chosen in bases else pytest.mark.slow,
        )
        for chosen in tried
    ]


def can_be_made(chosen: dict) -> bool:
    """Whether these choices do not exclude each other."""
    try:
        instantiate(chosen)(AttentionDims(num_heads=1, head_dim=4, max_seq_len=17))
    except UserError:
        return False
    return True


CHOICES = [case for name in NAMES for case in every_choice(name)]


def shares_over_a_batch(made: AttentionSubject) -> bool:
    """Whether examples share something: a constant, which another batch changes, or a draw, which another call does."""
    instance, (tensors, valid) = made.instance(17), made.inputs(17)
    first = made.mix(instance, "padded", tensors, valid)
    drawn_again = not made.mix_padded(instance, tensors, valid).equal(first)
    return drawn_again or any(contract.change_with_batch(made, form=form) for form in contract.FORMS)


@pytest.mark.parametrize("name, chosen", CHOICES)
def test_batch_wide_says_whether_the_examples_of_a_batch_share_something(name, chosen):
    made = subject_of(chosen)
    assert made.instance(250).batch_wide == shares_over_a_batch(made)  # the classifier cuts batches by it


@pytest.mark.parametrize("name, chosen", CHOICES)
def test_reads_padded_length_says_whether_padding_at_the_end_matters(name, chosen):
    made = subject_of(chosen)
    instance, matters = made.instance(250), contract.padded_length_change(made) != 0
    assert (instance.reads_padded_length or instance.reads_padding) == matters  # what `SequenceEncoder` refuses
