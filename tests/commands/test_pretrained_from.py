"""lra train pretrain=masked pretrain.from=HASH: one pretraining, many uses."""

import json
import shutil

import pytest

from lra.base.overrides import Overrides
from lra.settings.compose import load_config
from lra.settings.which_run import config_hash, hashed_settings
from lra.tables.grid.equal_steps import FROM_SCRATCH, cells_of
from tests.commands.test_pretraining import MASKED, WORDS

TRAIN = ("train", "attention=none", *WORDS, "pretrain=masked")


@pytest.fixture
def first(home, result_of):
    return result_of(*TRAIN, *MASKED[1:], "recipe.steps=2")


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_run_takes_the_pretraining_of_another_and_trains_as_if_it_were_its_own(first, home, result_of):
    own = result_of(*TRAIN, *MASKED[1:])
    taken = result_of(*TRAIN, f"pretrain.from={first.record.config_hash}")
    assert taken.record.outcome["dev_curve"] == own.record.outcome["dev_curve"]
    assert taken.record.test_accuracy == own.record.test_accuracy
    assert taken.record.config_hash != own.record.config_hash
    assert taken.record.settings["pretrain"] == {"name": "masked", "from": first.record.config_hash}
    found = taken.record.pretraining
    assert found["taken_from"] == {
        **{"config_hash": first.record.config_hash, "seed": 0, "flops": first.record.pretraining["flops"]},
        "data_sha256": first.record.provenance["data_sha256"],
    }
    for key in ("steps", "best_step", "dev_accuracy", "train_seconds", "flops"):
        assert found[key] == first.record.pretraining[key], key
    shutil.rmtree(first.run.folder)
    evaluated = result_of("evaluate", f"run={taken.run.folder}")
    assert (evaluated.is_as_recorded, evaluated.pretraining) == (True, None)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_another_seed_takes_the_only_one_and_not_one_of_several(first, result_of, refused):
    source = f"pretrain.from={first.record.config_hash}"
    taken = result_of(*TRAIN, source, "seed=7")
    assert taken.record.pretraining["taken_from"]["seed"] == 0
    result_of(*TRAIN, *MASKED[1:], "recipe.steps=2", "seed=1")
    assert refused(*TRAIN, source, "seed=8").right == "seed=0"
    again = result_of(*TRAIN, source, "seed=1")
    assert again.record.pretraining["taken_from"]["seed"] == 1
    assert again.record.config_hash == taken.record.config_hash, "seeds of one row"


@pytest.mark.slow
def test_what_does_not_fit_or_is_not_ended_is_refused_in_a_line(first, home, refused, result_of):
    source = f"pretrain.from={first.record.config_hash}"
    assert (
        refused("train", "attention=full", *WORDS, "pretrain=masked", source, "model.num_layers=1").kind
        == "wrong_value"
    )
    assert refused(*TRAIN, source, "model.width=32").key == "pretrain.from"
    assert refused(*TRAIN, source, "pretrain.steps=4").kind == "no_effect"
    assert refused(*TRAIN, "pretrain.from=00000000").kind == "unknown_run"
    taken = result_of(*TRAIN, source)
    assert refused(*TRAIN, f"pretrain.from={taken.record.config_hash}", "seed=3").kind == "wrong_value"
    (first.run.folder / "pretraining/last.ckpt").unlink()
    assert refused(*TRAIN, source, "seed=4").kind == "wrong_value"
    assert not list(home.rglob("seed4")), "nothing is left behind"


@pytest.mark.slow
def test_from_scratch_there_are_as_many_steps_as_both_runs_have_trained(first):
    words = ["task=listops", "size=tiny", "attention=none", "recipe.steps=4", "seed=0", "pretrain=masked"]
    source = f"pretrain.from='{first.record.config_hash}'"
    scratch, pretrained = cells_of("compare", Overrides([*words, source, FROM_SCRATCH]))
    assert (scratch.cfg.recipe.steps, pretrained.cfg.recipe.steps) == (4 + 6, 4)
    assert len(cells_of("compare", Overrides([*words, "pretrain.from='00000000'", FROM_SCRATCH]))) == 1


@pytest.mark.parametrize("word", ["a1b9", "runs/x/seed0", "A1B9200F", "12345678.0"])
def test_what_is_no_hash_is_refused(word, home, refused):
    assert refused(*TRAIN, f"pretrain.from='{word}'").key == "pretrain.from"


def test_the_hash_is_that_of_the_run_that_is_taken_alone():
    plain, taken, other = (
        load_config("train", ["pretrain=masked", *more])
        for more in ([], ["pretrain.from='12345678'"], ["pretrain.from=a1b9200f", "pretrain.steps=7"])
    )
    assert hashed_settings(taken)["pretrain"] == {"name": "masked", "from": "12345678"}
    assert len({config_hash(each) for each in (plain, taken, other)}) == 3
    assert "from" not in json.dumps(list(hashed_settings(plain)["pretrain"]))
