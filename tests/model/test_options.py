"""What the released code offers beside its table: pooling by a first token, one block for all layers, no attention."""

import pytest
import torch

from lra import from_config
from lra.model.classifier import count_parameters
from lra.model.pooling import FirstVector, make_pooling
from lra.settings.compose import load_config


def model_of(*words: str):
    torch.manual_seed(0)
    return from_config.build_model(load_config("train", ["size=tiny", "model.dropout=0.0", *words])).double()


def ragged():
    tokens = torch.randint(1, 16, (4, 1, 256))
    for row, end in enumerate((256, 200, 30, 0)):
        tokens[row, :, end:] = 0
    return tokens, tokens != 0


@pytest.mark.parametrize("masked", [True, False])
def test_cls_is_the_last_id_in_front_and_its_vector(masked):
    model = model_of("protocol.pooling=cls", "attention=full", "attention.attention_dropout=0")
    tokens, valid = ragged()
    valid = valid if masked else None
    front = torch.cat([torch.full((4, 1), 31), tokens[:, 0, :-1]], 1)
    real = torch.cat([torch.ones(4, 1, dtype=torch.bool), valid[:, 0, :-1]], 1) if masked else None
    expected = model.head(model.encoder(front, real)[:, :1])
    for packed in (True, False):
        torch.testing.assert_close(model(tokens, valid, packed=packed), expected)


@pytest.mark.slow
@pytest.mark.parametrize("task, attention", [("listops", "nystrom"), ("retrieval", "reformer")])
def test_packed_cls_has_the_gradients_of_the_padded_one(task, attention):
    model = model_of("protocol.pooling=cls", f"task={task}", f"attention={attention}")
    tokens, valid = (x.expand(-1, 2 if task == "retrieval" else 1, -1) for x in ragged())
    found = []
    for packed in (True, False):
        torch.manual_seed(0)  # Reformer draws its rotations at each call
        logits = model(tokens, valid, packed=packed)
        grads = torch.autograd.grad(logits.square().sum(), list(model.parameters()), materialize_grads=True)
        found.append((logits, *grads))
    for one, other in zip(*found, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-7, atol=1e-9)


def test_a_token_that_gives_way_is_the_last_one():
    pooling = make_pooling("cls", vocab_size=9)
    assert isinstance(pooling, FirstVector)
    tokens, valid = torch.tensor([[[1, 2, 0]]]), torch.tensor([[[True, True, False]]])
    marked = pooling.add_token(tokens, valid)
    assert [x.tolist() for x in marked] == [[[[8, 1, 2]]], [[[True, True, True]]]]


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["nystrom", "linformer"])
def test_tied_layers_are_one_block_run_again(attention):
    words = (f"attention={attention}", "model.num_layers=3")
    tied, free = model_of(*words, "model.tied_layers=true"), model_of(*words)
    assert count_parameters(model_of(f"attention={attention}", "model.num_layers=1")) == count_parameters(tied)
    state = tied.state_dict()
    assert state.keys() == free.state_dict().keys()
    free.load_state_dict(state)
    tokens, valid = ragged()
    for packed in (True, False):
        torch.testing.assert_close(tied(tokens, valid, packed=packed), free(tokens, valid, packed=packed))


def test_without_attention_a_position_sees_nothing_of_another():
    model = model_of("attention=none", "protocol=clean")
    tokens, valid = ragged()
    other = tokens.clone()
    other[0, 0, 7] = 1 + other[0, 0, 7] % 15
    seen = [model.encoder(x[:, 0], valid[:, 0])[0] for x in (tokens, other)]
    same = (seen[0] == seen[1]).all(-1)
    assert same.sum() == 255
    assert not same[7]


@pytest.mark.parametrize("task", ["retrieval", "image", "pathfinder"])
def test_batch_wide_constants_cover_what_they_covered_behind_the_papers_table(task):
    """One document's side; 128 examples, half of a batch of pixels."""
    protocol = load_config("train", [f"task={task}", "protocol=paper"]).protocol
    assert (protocol.batch_constant_sides, protocol.batch_constant_examples) == ("separate", 128)


def test_they_are_off_by_default():
    for protocol in ("paper", "clean"):
        cfg = load_config("train", [f"protocol={protocol}"])
        assert cfg.model.tied_layers is False
        assert cfg.model.pooling != "cls"
