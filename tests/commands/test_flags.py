"""Hydra's own flags may stand before, among or after the settings."""

import os

import pytest

from lra.base.overrides import Overrides
from lra.cli import _split, main
from lra.settings.config_dirs import split_config_dirs


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["--config-dir", "conf", "size=tiny", "model=small"],
        ["size=tiny", "--config-dir", "conf", "model=small"],
        ["size=tiny", "model=small", "--config-dir=conf"],
    ],
)
def test_a_conf_folder_is_named_anywhere(words, home, tmp_path, result_of):
    (tmp_path / "conf/model").mkdir(parents=True)
    (tmp_path / "conf/model/small.yaml").write_text("defaults: [encoder]\nname: small\nnum_layers: 1\n")
    shown = result_of("show", "model", *words)
    blocks = [row[0] for row in shown.table.rows if "blocks" in row[0]]
    assert blocks == ["encoder.blocks.0"], "the encoder of that folder has one layer"


def test_the_order_of_settings_stays_and_a_folder_may_have_any_name():
    words, folders = split_config_dirs(["a=1", "--config-dir", "lr=0.1", "~b", "a=2", "--cfg", "job"])
    assert folders == ["lr=0.1"]
    assert _split(Overrides(words)) == (["--cfg", "job"], ("a=1", "~b", "a=2"))


@pytest.fixture
def conf(home, tmp_path, monkeypatch):
    """A folder with one more attention, which is also a Python package."""
    folder = tmp_path / "mine"
    (folder / "attention").mkdir(parents=True)
    (folder / "__init__.py").touch()
    (folder / "attention/own.yaml").write_text("defaults: [full]\nname: own\n")
    monkeypatch.syspath_prepend(tmp_path)
    return folder


SHOW, TABLE, COMPARE = ["show", "model"], ["table", "show"], ["compare", "show"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "verb, named",
    [
        (SHOW, ["--config-dir", "mine"]),
        (TABLE, ["-cd", "mine"]),
        (COMPARE, ["--config-dir=mine"]),
        (TABLE, ["hydra.searchpath=[file://{}]"]),
        (COMPARE, ["hydra.searchpath=[pkg://mine]"]),
        (SHOW, ["'hydra.searchpath=[\"{}\"]'"]),
    ],
)
def test_every_verb_looks_through_the_folder(verb, named, conf, monkeypatch, capsys, refused):
    monkeypatch.delenv("LRA_CONF_PATH", raising=False)
    words = [word.format(conf).strip("'") for word in named]
    code = main([*verb, *words, "attention=own", "size=tiny"])
    assert code == 0, capsys.readouterr().err
    assert "LRA_CONF_PATH" not in os.environ
    error = refused(*verb, "attention=own")
    assert (error.kind, error.key, error.value) == ("unknown_choice", "attention", "own")


@pytest.mark.slow
def test_quoted_values_mean_what_they_mean_to_hydra(home, capsys, refused):
    words = ("task='listops'", 'attention="full"', "size=tiny", "run_group='a/b'")
    for verb in ("table", "compare"):
        error = refused(verb, "show", *words)
        assert (error.kind, error.key) == ("no_records", str(home / "a/b"))
    assert main(["train", "--cfg", "job", *words]) == 0
    assert "run_group: a/b" in capsys.readouterr().out
