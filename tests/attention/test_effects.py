"""Each option of each attention changes something, but where its class says that others turn it off.

`lra train` refuses a typed option without effect by what `effective_with` says; so here every option of every attention
is changed under every protocol, and beside every choice that may turn it off.
"""

from collections.abc import Iterator
from itertools import product, zip_longest
from typing import Any

import pytest
import torch
from hydra.utils import get_object

from lra.base.option_types import allows
from lra.settings.declared import declared_types
from lra.types import UserError
from tests.attention.test_contract import CELLS, settings, subject_of, words_of

LENGTHS = (30, 7)  # with more and with fewer tokens than Nyström attention has landmarks
SMALL = {"window": 4, "block_length": 2, "random_blocks": 2, "chunk_length": 4, "num_landmarks": 8}


def bases(name: str, protocol: str) -> Iterator[dict[str, Any]]:
    """The settings under a protocol, and with each choice of the options that turn others off."""
    base = settings(name, protocol)
    base |= {option: value for option, value in SMALL.items() if option in base}
    yield base
    maker = get_object(base["_target_"])
    kinds, _ = declared_types(maker)
    for option in {other for others in maker.effective_with.values() for other in others}:
        for value in words_of(kinds[option]) or (0,):
            if value != base[option]:
                yield {**base, option: value}


def another(value: float) -> float:
    """Another value of an option that has no words; a number stays odd or even, and one that was 0 becomes 1."""
    if isinstance(value, float):
        return 0.5
    return value - 2 if value > 2 else value + 2 if value else 1


def what_it_does(chosen: dict[str, Any]) -> Iterator[torch.Tensor]:
    """Outputs and gradients in both forms, in training and in evaluation, and what an instance says of itself."""
    made = subject_of(chosen)
    for length, training, form in product(LENGTHS, (True, False), ("padded", "packed")):
        tensors, valid = made.inputs(length)
        first, second = (made.instance(LENGTHS[0]).train(training) for _ in range(2))
        second.share_with(first)
        shared = {id(p) for p in first.parameters()} & {id(p) for p in second.parameters()}
        yield torch.tensor([second.biased, second.quadratic, len(shared)])
        torch.manual_seed(1)  # not that of the instance, or Performer would draw the same features anew
        out = made.mix(second, form, tensors, valid)
        yield from (out, made.mix_padded(second, tensors, valid))  # and a later call of the same pass
        inputs = [*tensors, *second.parameters()]
        yield from torch.autograd.grad(out.square().sum(), inputs, materialize_grads=True)


def differ(first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Whether two settings differ in any bit of what they do.

    Raises:
        UserError: when an instance cannot be made.
    """
    pairs = zip_longest(what_it_does(first), what_it_does(second))
    return any(one is None or other is None or not one.equal(other) for one, other in pairs)


def can_be_made(chosen: dict[str, Any]) -> bool:
    """Whether these choices do not exclude each other."""
    try:
        subject_of(chosen).instance(LENGTHS[0])
    except UserError:
        return False
    return True


FEW = 4  # bases of an attention that a second is enough for
WALKS = [pytest.param(*cell, marks=() if len(list(bases(*cell))) <= FEW else pytest.mark.slow) for cell in CELLS]


@pytest.mark.parametrize("name, protocol", WALKS)
def test_an_option_has_an_effect_unless_its_class_says_what_turns_it_off(name, protocol):
    for base in filter(can_be_made, bases(name, protocol)):
        maker = get_object(base["_target_"])
        kinds, _ = declared_types(maker)
        for option in (option for option in kinds if option in base):
            others = maker.effective_with.get(option)
            effective = others is None or any(allows(kind, base[other]) for other, kind in others.items())
            values = words_of(kinds[option]) or (another(base[option]),)
            changed = [{**base, option: value} for value in values if value != base[option]]
            for other in filter(can_be_made, changed):
                assert differ(base, other) is effective, (base, option, other[option])


@pytest.mark.parametrize("name, protocol", CELLS)
def test_uses_queries_says_whether_queries_and_keys_matter(name, protocol):
    made = subject_of(settings(name, protocol))
    tensors, valid = made.inputs(30)
    others = [torch.randn_like(tensors[0]), torch.randn_like(tensors[1]), tensors[2]]
    first, second = (made.mix(made.instance(30), "padded", each, valid) for each in (tensors, others))
    assert made.instance(30).uses_queries is not first.equal(second)
