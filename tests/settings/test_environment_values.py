"""Text from the environment is read as if it had been typed: as a number where one is needed, else as a text."""

import pytest

import lra
from lra.settings.check_overrides import check_overrides
from lra.types import UserError
from tests.conftest import lra_here

FROM = "${oc.env:SOME_VALUE}"


@pytest.mark.parametrize(
    ("key", "text", "value"),
    [
        ("seed", "3", 3),
        ("recipe.optimizer.lr", "1e-3", 1e-3),
        ("force", "true", True),
        ("trainer.threads", "null", None),
        ("run_group", "2024", "2024"),
        ("source", "a, b", "a, b"),
        ("recipe.optimizer.betas", "[0.8,0.9]", [0.8, 0.9]),
    ],
)
def test_a_value_has_the_type_that_a_typed_one_has(key, text, value, monkeypatch):
    monkeypatch.setenv("SOME_VALUE", text)
    composed = lra.compose(f"{key}={FROM}").value(key)
    assert (composed, type(composed)) == (value, type(value))


def test_a_choice_is_one_of_those_there_are(monkeypatch):
    monkeypatch.setenv("SOME_VALUE", "image")
    assert lra.compose(f"task={FROM}").task.name == "image"
    monkeypatch.setenv("SOME_VALUE", "imag")
    with pytest.raises(UserError) as caught:
        lra.compose(f"task={FROM}")
    assert (caught.value.kind, caught.value.value) == ("unknown_choice", "imag")


def test_a_wrong_text_is_refused_with_the_option(monkeypatch):
    monkeypatch.setenv("SOME_VALUE", "three")
    with pytest.raises(UserError) as caught:
        lra.compose(f"seed={FROM}")
    assert (caught.value.kind, caught.value.key, caught.value.value) == ("wrong_value", "seed", "three")


def test_several_values_are_refused_as_typed_ones_are(monkeypatch):
    monkeypatch.setenv("SOME_VALUE", "0,1")
    with pytest.raises(UserError) as caught:
        lra.compose(f"seed={FROM}")
    assert (caught.value.kind, caught.value.key) == ("several_values", "seed")
    assert check_overrides("train", [f"seed={FROM}"], sweep=True) == ("seed=0,1",)


def test_a_default_holds_where_the_variable_is_not_set(monkeypatch):
    monkeypatch.delenv("SOME_VALUE", raising=False)
    assert lra.compose("seed=${oc.env:SOME_VALUE,7}").seed == 7
    with pytest.raises(UserError) as caught:
        check_overrides("train", [f"seed={FROM}"], sweep=False)
    assert (caught.value.kind, caught.value.key) == ("wrong_value", "seed")
    assert "export SOME_VALUE=" in str(caught.value)


def test_the_command_line_takes_it(tmp_path, monkeypatch):
    monkeypatch.setenv("SOME_VALUE", "3")
    done = lra_here("train", "size=tiny", f"seed={FROM}", "--cfg", "job", data=tmp_path, runs=tmp_path)
    assert "\nseed: 3\n" in f"\n{done.stdout}"
