"""An unknown option is told by the field's other words, in the same group and at the verb at hand, before letters."""

import pytest

import lra
from lra.cli import VERBS
from lra.settings.compose import compose_config
from lra.settings.declared import keys_of
from lra.settings.other_words import OTHER_VERBS, OTHER_WORDS, without_hyphens
from lra.settings.unknown_option import not_installed
from lra.types import UserError
from tests.conftest import lra_here


@pytest.mark.parametrize(
    ("typed", "right"),
    [
        (["steps=5"], "recipe.steps"),
        (["lr=1e-3"], "recipe.optimizer.lr"),
        (["batch_size=8"], "recipe.batch_size"),
        (["Batch-Size=8"], "recipe.batch_size"),
        (["devices=2"], "trainer.devices"),
        (["landmarks=32"], "attention.num_landmarks"),
        (["num_landmarks=32"], "attention.num_landmarks"),
        (["landmarks=valid"], "attention.landmarks"),
        (["attention.landmark=32"], "attention.num_landmarks"),
        (["attention=linformer", "landmarks=32"], "attention.projections"),
        (["attention=performer", "landmarks=32"], "attention.features"),
        (["model.lr=1e-3"], "recipe.optimizer.lr"),
        (["model.layers=2"], "model.num_layers"),
        (["d_model=64"], "model.width"),
        (["max_len=100"], "task.sizes.full.max_length"),
        (["task.data.max_length=100"], "task.sizes.full.max_length"),
        (["lerning_rate=1"], "recipe.optimizer.lr"),
        (["sede=1"], "seed"),
    ],
)
def test_an_option_is_found_by_the_words_that_others_have_for_it(typed, right):
    with pytest.raises(UserError) as caught:
        lra.compose(*typed)
    assert (caught.value.kind, caught.value.right) == ("unknown_option", right)
    assert f"{right}={typed[-1].partition('=')[2]}" in str(caught.value)


@pytest.mark.parametrize("word", ["gpus=1", "epochs=3", "device=cuda", "fp16=true", "optimizer=adam", "resume=true"])
def test_what_no_single_option_says_is_told_by_what_to_type(word):
    with pytest.raises(UserError) as caught:
        lra.compose(word)
    assert (caught.value.right, caught.value.key) == (None, word.partition("=")[0])
    assert "; type " in str(caught.value)


def test_an_option_of_another_attention_is_told_with_it():
    with pytest.raises(UserError, match=r"attention=nystrom attention\.num_landmarks=32"):
        lra.compose("attention=full", "num_landmarks=32")


def test_a_value_that_only_an_option_of_this_name_elsewhere_may_have_tells_it():
    with pytest.raises(UserError) as caught:
        lra.compose("attention.landmarks=32")
    assert (caught.value.kind, caught.value.right) == ("unknown_choice", "attention.num_landmarks=32")


def test_the_verbs_own_options_come_first(tmp_path):
    done = lra_here("tune", "show", "budgt=3", data=tmp_path, runs=tmp_path / "runs")
    assert "did you mean budget=3?" in done.stderr
    done = lra_here("export", "run=x", "trainer.threads=1", data=tmp_path, runs=tmp_path / "runs")
    assert "trainer.threads=" not in done.stderr.replace("unknown option trainer.threads;", "")
    assert "run, seed, to" in done.stderr


def test_each_option_and_verb_that_others_have_a_word_for_is_there():
    keys = set()
    for words in ([], ["attention=linformer"], ["attention=performer"], ["attention=longformer"], ["attention=local"]):
        keys |= {*keys_of(compose_config("train", words))}
    for words in (["attention=reformer"], ["attention=full"], ["mixer=s4d"]):
        keys |= {*keys_of(compose_config("train", words))}
    for verb in ("tune", "evaluate", "report", "export", "import", "fill-mask"):
        keys |= {*keys_of(compose_config(verb))}
    keys |= {"task.data.max_length", "trainer.gradient_clip_val"}
    assert {*OTHER_WORDS} <= keys
    assert {verb.split()[0] for verb in OTHER_VERBS} - {"--version"} <= {*VERBS}


@pytest.mark.parametrize(
    ("words", "meant"),
    [
        (["--task", "listops"], "task=listops"),
        (["--task=listops"], "task=listops"),
        (["--batch-size", "8", "seed=1"], "batch_size=8"),
        (["--force"], "force=true"),
        (["--force", "seed=1"], "force=true"),
        (["-x"], None),
    ],
)
def test_flags_are_read_as_overrides(words, meant):
    assert without_hyphens(words) == meant


@pytest.mark.parametrize("verb", [["train"], ["compare", "plan"], ["bench", "step"], ["tune", "show"]])
def test_a_flag_of_other_programs_is_told_as_an_override(verb, tmp_path):
    done = lra_here(*verb, "--lr", "0.1", data=tmp_path, runs=tmp_path / "runs")
    assert (done.returncode, "type recipe.optimizer.lr=0.1" in done.stderr) == (2, True)


def test_a_choice_in_a_package_that_is_not_installed_is_told_with_its_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert lra_here("new", "attention", "mine", data=tmp_path, runs=tmp_path / "runs").returncode == 0
    done = lra_here("check", "attention=mine", data=tmp_path, runs=tmp_path / "runs")
    assert "./mine is not installed; type: pip install -e ./mine" in done.stderr
    monkeypatch.chdir(tmp_path / "mine")
    assert not_installed("attention", "mine") == ". is not installed; type: pip install -e ."
    assert not_installed("attention", "other") is None
