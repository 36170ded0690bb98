"""The same step with the same seed gives the same bits, on several threads too: every attention and mixer.

Where an index names a place several times, torch's CPU kernel of `x[index]` adds the gradients of this place up in the
order in which its threads come: `index_select` is the same function, and adds them up in the index's order.
"""

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

import lra
from lra import from_config
from lra.base.paths import conf_names
from lra.settings.compose import load_config

METHODS = [
    *(f"attention={name}" for name in conf_names("attention")),
    *(f"mixer={name}" for name in conf_names("mixer") if name != "attention"),
]
PROTOCOLS = ("paper", "clean")
REPEATS = 24
LONG = 600  # tokens of the longest sequence: torch's kernel takes two threads for 2**15 numbers, 512 tokens of 64


class RepeatedPlaces(TorchDispatchMode):
    """Notes each sum into places that an index names more than once, which threads add up in any order."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = function.overloadpacket.__name__
        if "index_put" in name:
            _, indices, _, accumulate, *_ = (*args, *(kwargs or {}).values(), False)
            places = torch.stack(torch.broadcast_tensors(*(index for index in indices if index is not None)), -1)
            places = places.flatten(0, -2)
            if accumulate and len(places.unique(dim=0)) < len(places):
                self.found.append(name)
        return function(*args, **(kwargs or {}))


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def model_of(method: str, protocol: str, *words: str):
    torch.manual_seed(0)
    return from_config.build_model(
        load_config("train", ["task=listops", method, f"protocol={protocol}", *words])
    ).train()


def tokens_of(*lengths: int) -> tuple[torch.Tensor, torch.Tensor]:
    tokens = torch.randint(1, 16, (len(lengths), 1, max(lengths)))
    tokens[torch.arange(max(lengths)) >= torch.tensor(lengths)[:, None, None]] = 0
    return tokens, tokens != 0


def step(model, *inputs: torch.Tensor, **options: object) -> list[torch.Tensor]:
    """One training step with the first seed: the output, and the gradients of all parameters."""
    torch.manual_seed(0)
    out = model(*inputs, **options)
    return [out, *torch.autograd.grad(out.square().sum(), list(model.parameters()), materialize_grads=True)]


def differing(model, *inputs: torch.Tensor, **options: object) -> int:
    """How many of the repeats differ from the first one in any bit."""
    first = step(model, *inputs, **options)
    repeats = (step(model, *inputs, **options) for _ in range(REPEATS - 1))
    return sum(not all(map(torch.equal, repeat, first)) for repeat in repeats)


@pytest.mark.some_fast(1)
@pytest.mark.some_in_ci(8)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("packed", [True, False])
def test_a_step_gives_the_same_bits_again(packed, method, protocol, two_threads):
    model = model_of(method, protocol, "model.num_layers=1")
    assert differing(model, *tokens_of(LONG, 40), packed=packed) == 0


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_sequence_encoder_gives_the_same_bits_again(two_threads):
    encoder = lra.SequenceEncoder.build(embed_dim=3, num_layers=1).train()
    x_BLI, lengths = torch.randn(40, 60, 3), torch.randint(20, 61, (40,))
    assert differing(encoder, x_BLI, lengths=lengths, packed=True) == 0


@pytest.mark.some_fast(6)
@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("method", METHODS)
def test_no_gradient_is_added_up_in_the_order_of_threads(method, protocol):
    """Also where a machine is too busy, or a batch too small, for two threads to meet."""
    model = model_of(method, protocol, "size=tiny")
    for packed in (True, False):
        with RepeatedPlaces() as places:
            step(model, *tokens_of(50, 20, 7), packed=packed)
        assert not places.found


def test_no_gradient_of_a_sequence_encoder_is_added_up_in_the_order_of_threads():
    encoder = lra.SequenceEncoder.build(embed_dim=3).train()
    for packed in (True, False):
        with RepeatedPlaces() as places:
            step(encoder, torch.randn(3, 60, 3), lengths=torch.tensor([60, 20, 7]), packed=packed)
        assert not places.found


def test_it_is_seen_where_it_is():
    table = torch.randn(3, 2, requires_grad=True)
    index = torch.tensor([0, 2, 2])
    for pick, seen in ((lambda: table[index], True), (lambda: table.index_select(0, index), False),
                       (lambda: table[index[:2]], False)):  # fmt: skip
        with RepeatedPlaces() as places:
            pick().sum().backward()
        assert bool(places.found) is seen
