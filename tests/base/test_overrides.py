"""Overrides are texts with a key."""

import pickle

import pytest

from lra.base.overrides import Override, Overrides
from lra.settings.override_values import one_by_one, product_of

TYPED = Overrides(
    ["task=listops", "attention.num_landmarks=16", "+trainer.max_time=1", "~logger.wandb", "seed=0", "seed=1"]
)


@pytest.mark.parametrize(
    ("typed", "key", "signed_key", "group", "text", "has_value"),
    [
        ("seed=0,1", "seed", "seed", "seed", "0,1", True),
        ("+trainer.max_time='a=b'", "trainer.max_time", "+trainer.max_time", "trainer", "'a=b'", True),
        ("~logger.wandb", "logger.wandb", "~logger.wandb", "logger", "", False),
        ("run_group=", "run_group", "run_group", "run_group", "", True),
    ],
)
def test_the_parts_of_an_override(typed, key, signed_key, group, text, has_value):
    override = Override(typed)
    assert override == typed
    assert (override.key, override.signed_key, override.group) == (key, signed_key, group)
    assert (override.text, override.has_value) == (text, has_value)


def test_some_of_several():
    assert TYPED.only("seed") == ("seed=0", "seed=1")
    assert TYPED.only("attention", "trainer.") == ("+trainer.max_time=1",)
    assert TYPED.without("seed", "attention.", "logger.wandb") == ("task=listops", "+trainer.max_time=1")
    assert TYPED.of_groups("attention", "logger") == ("attention.num_landmarks=16", "~logger.wandb")
    assert TYPED.keys == {"task", "attention.num_landmarks", "trainer.max_time", "logger.wandb", "seed"}


def test_the_last_value_counts_and_a_deletion_has_none():
    assert (TYPED.get("seed"), TYPED.texts("seed")) == ("1", ["0", "1"])
    assert (TYPED.get("logger.wandb"), TYPED.get("mixer")) == (None, None)


def test_they_are_sent_to_another_process():
    sent = pickle.loads(pickle.dumps(TYPED))
    assert (sent, sent.get("task")) == (TYPED, "listops")


@pytest.mark.parametrize(
    ("typed", "each"),
    [
        ("seed=0", ("seed=0",)),
        ("+a.b=1e-3,0.1", ("+a.b=0.001", "+a.b=0.1")),
        ("seed=range(3)", ("seed=0", "seed=1", "seed=2")),
        ("recipe.optimizer.lr=interval(0.1,0.2)", ("recipe.optimizer.lr=0.1", "recipe.optimizer.lr=0.2")),
        ("recipe.optimizer.lr=tag(times,choice(0.5,2))", ()),  # factors of a value are no values
        ("a='b,c',d", ("a='b,c'", "a=d")),
    ],
)
def test_each_value_by_itself(typed, each):
    assert one_by_one(typed) == each


def test_all_combinations_in_which_the_first_changes_slowest():
    assert product_of(["task=a,b", "seed=0,1"]) == [
        ("task=a", "seed=0"),
        ("task=a", "seed=1"),
        ("task=b", "seed=0"),
        ("task=b", "seed=1"),
    ]
