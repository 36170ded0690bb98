"""Rotary positions: rotations of complex numbers, products that depend on distances, and which models can have them."""

import pytest
import torch

from lra.cli import main
from lra.from_config import build_model
from lra.model.self_attention import rotate
from lra.settings.compose import load_config
from lra.types import UserError


def slow_rotate(x):
    """The reference implementation: the pair (e, e + E/2) is a complex number."""
    half = x.shape[3] // 2
    rotated = torch.empty_like(x)
    for place in range(x.shape[2]):
        for e in range(half):
            angle = torch.tensor(place * 10_000 ** (-2 * e / x.shape[3]), dtype=torch.float64)
            number = torch.complex(x[:, :, place, e], x[:, :, place, e + half]) * torch.polar(angle * 0 + 1, angle)
            rotated[:, :, place, e], rotated[:, :, place, e + half] = number.real, number.imag
    return rotated


def test_it_is_its_reference_in_outputs_and_gradients():
    torch.manual_seed(0)
    x = torch.randn(2, 3, 9, 8, dtype=torch.float64, requires_grad=True)
    weights = torch.randn_like(x)
    out, expected = rotate(x), slow_rotate(x)
    torch.testing.assert_close(out, expected, rtol=0, atol=1e-12)
    gradients = [torch.autograd.grad((each * weights).sum(), x)[0] for each in (out, expected)]
    torch.testing.assert_close(*gradients, rtol=0, atol=1e-12)


def test_products_depend_on_the_distance_alone():
    torch.manual_seed(0)
    q, k = torch.randn(2, 1, 1, 1, 8, dtype=torch.float64)
    scores = rotate(q.expand(1, 1, 12, 8)) @ rotate(k.expand(1, 1, 12, 8)).mT
    for distance in range(-11, 12):
        diagonal = scores[0, 0].diagonal(distance)
        torch.testing.assert_close(diagonal, diagonal[:1].expand_as(diagonal), rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "attention, positions, sees_order",
    [("full", "rotary", True), ("nystrom", "rotary", True), ("full", "none", False), ("nystrom", "none", False),
     ("average", "rotary", False), ("none", "rotary", False)],
)  # fmt: skip
def test_attention_sees_the_order(attention, positions, sees_order):
    words = (f"attention={attention}", f"model.positions={positions}", "model.norm=layer", "size=tiny")
    if attention == "nystrom":
        words += ("attention.value_skip_taps=0",)
    torch.manual_seed(0)
    model = build_model(load_config("train", ["task=listops", "protocol=s4", *words])).eval().double()
    tokens = torch.randint(1, 15, (2, 1, 20))
    with torch.no_grad():
        same = torch.allclose(model(tokens, None), model(tokens.flip(2), None), atol=1e-9)
    assert same is not sees_order
    assert model.encoder.embedding.position is None
    assert not model.encoder.packable


@pytest.mark.parametrize(
    "words, key",
    [(("mixer=s4d", "model.positions=rotary"), "model.positions"),
     (("mixer=s4d", "model.attention_dtype=autocast", "trainer.precision=bf16-mixed"), "model.attention_dtype"),
     (("attention=full", "model.positions=rotary", "model.head_dim=9"), "model.head_dim")],
)  # fmt: skip
def test_options_of_queries_that_have_no_effect_are_refused(words, key):
    with pytest.raises(UserError) as error:
        build_model(load_config("train", ["task=listops", "size=tiny", *words]))
    assert error.value.key == key


@pytest.mark.slow
@pytest.mark.parametrize("attention, said", [("average", True), ("full", False)])
def test_a_line_says_that_rotations_of_unused_queries_are_no_positions(attention, said, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))
    words = ("task=recall", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv")
    assert main(["train", *words, f"attention={attention}", "model.positions=rotary"]) == 0
    assert (f"attention={attention} uses no queries" in capsys.readouterr().out) is said
