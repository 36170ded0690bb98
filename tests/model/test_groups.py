"""What an attention takes over a batch, it takes over a group of sequences: one document's side, so many examples.

Small bugs that each test must catch stand in tests/attention/planted_bugs.yaml.
"""

import pytest
import torch

from lra import from_config
from lra.settings.compose import load_config
from lra.tools.testing import contract
from tests.attention.test_contract import NAMES, subject
from tests.reference.model import PlainClassifier

PAPER = {name: subject(name, "paper") for name in NAMES}
BATCH_WIDE = [
    name
    for name, made in PAPER.items()
    if made.instance(17).batch_wide and contract.change_with_batch(made, form="padded")
]


def model_of(*words: str):
    """A model in float64 without dropout whose weights are large enough for the constants to matter."""
    torch.manual_seed(0)
    cfg = load_config("train", ["size=tiny", "model.dropout=0.0", *words])
    model = from_config.build_model(cfg).double()
    for parameter in model.parameters():
        parameter.data.add_(torch.randn_like(parameter), alpha=0.1)
    return model


def pairs(batch: int = 3):
    tokens = torch.randint(1, 257, (batch, 2, 256))
    tokens[0, 0, 200:] = 0
    tokens[1, 1, 30:] = 0
    return tokens, tokens != 0


def pooled(model, tokens, valid, *, packed: bool):
    """The vectors that the head is given, `[B, N, D]`."""
    seen = []
    handle = model.head.register_forward_pre_hook(lambda head, inputs: seen.append(inputs[0]))
    model(tokens, valid, packed=packed)
    handle.remove()
    return seen[0]


@pytest.mark.slow
@pytest.mark.parametrize("packed", [True, False])
def test_a_pair_is_what_the_paper_wrote_whose_documents_go_through_in_turn(packed):
    model = model_of("task=retrieval", "protocol=paper")
    plain = PlainClassifier(vocab=512, length=256, classes=2, sequences=2, dropout=0.0).double()
    plain.take_weights(model)
    tokens, valid = pairs()
    ours, theirs = model(tokens, valid, packed=packed), plain(tokens, valid)
    torch.testing.assert_close(ours, theirs, rtol=1e-9, atol=1e-11)
    ours.square().sum().backward()
    theirs.square().sum().backward()
    torch.testing.assert_close(model.encoder.embedding.token.weight.grad, plain.token.weight.grad)


@pytest.mark.slow
@pytest.mark.parametrize("sides", ["separate", "together"])
@pytest.mark.parametrize("attention", BATCH_WIDE)
@pytest.mark.parametrize("packed", [True, False])
def test_second_documents_reach_the_first_only_when_sides_are_together(attention, packed, sides):
    model = model_of(
        "task=retrieval", f"attention={attention}", "protocol=paper", f"protocol.batch_constant_sides={sides}"
    )
    tokens, _ = pairs()
    other = tokens.clone()
    other[:, 1] = torch.randint(1, 257, other[:, 1].shape)
    firsts = [pooled(model, x, x != 0, packed=packed)[:, 0] for x in (tokens, other)]
    assert firsts[0].equal(firsts[1]) == (sides == "separate")


@pytest.mark.slow
@pytest.mark.parametrize("examples", [4, "null"])
@pytest.mark.parametrize("attention", BATCH_WIDE)
@pytest.mark.parametrize("packed", [True, False])
def test_a_batch_is_its_groups_one_after_the_other(attention, packed, examples):
    model = model_of(
        "task=image", f"attention={attention}", "protocol=paper", f"protocol.batch_constant_examples={examples}"
    )
    tokens = torch.randint(0, 256, (10, 1, 256))
    tokens[torch.rand(tokens.shape) < 0.5] = 0
    whole = model(tokens, tokens != 0, packed=packed)
    parts = torch.cat([model(part, part != 0, packed=packed) for part in tokens.split(4)])
    assert torch.allclose(whole, parts, rtol=1e-9, atol=1e-12) == (examples == 4)


@pytest.mark.slow
@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("packed", [True, False])
def test_rotations_of_reformer_are_drawn_for_each_group(packed, training):
    """Each side of each part has its own, in the released code's order: first documents of a part, then its second."""
    words = ("task=retrieval", "attention=reformer", "protocol=paper", "protocol.batch_constant_examples=2")
    model = model_of(*words)
    tokens = torch.randint(1, 257, (1, 1, 256)).expand(4, 2, -1)  # only rotations tell these eight documents apart

    def begin():
        torch.manual_seed(7)
        model.train(training)

    begin()
    whole = pooled(model, tokens, None, packed=packed)
    assert len(whole.flatten(0, 1).round(decimals=9).unique(dim=0)) == 4
    begin()
    again = [model._pool(tokens[:2, :1], None, packed=False) for _ in range(4)]
    for part, side in ((0, 0), (0, 1), (1, 0), (1, 1)):
        group = whole[2 * part : 2 * part + 2, side : side + 1]
        torch.testing.assert_close(group, again[2 * part + side], rtol=1e-9, atol=1e-12)


@pytest.mark.slow
def test_what_takes_nothing_over_a_batch_goes_through_at_once():
    for words in (
        ["protocol=clean"],
        ["attention=full"],
        ["attention.pinv=exact"],
        ["attention=reformer", "protocol=clean"],
    ):
        model = model_of("task=retrieval", "protocol.batch_constant_examples=1", *words)
        calls = []
        model.encoder.register_forward_hook(lambda module, inputs, out, calls=calls: calls.append(len(inputs[0])))
        model(*pairs(), packed=False)
        assert calls == [6], words
