"""Hydra's own flags may stand before, among or after the settings."""

from __future__ import annotations

import pytest

from lra.cli import _flags_first, main


@pytest.mark.parametrize(
    "words",
    [
        ["--config-dir", "conf", "size=tiny", "model=small"],
        ["size=tiny", "--config-dir", "conf", "model=small"],
        ["size=tiny", "model=small", "--config-dir=conf"],
    ],
)
def test_a_conf_folder_is_named_anywhere(words, home, tmp_path, capsys):
    (tmp_path / "conf/model").mkdir(parents=True)
    (tmp_path / "conf/model/small.yaml").write_text("defaults: [encoder]\nname: small\nnum_layers: 1\n")
    assert main(["show", "model", *words]) == 0
    assert "listops / small" in capsys.readouterr().out


@pytest.mark.parametrize("flag", [["--cfg", "job"], ["--cfg=job"]])
def test_printing_a_configuration_is_for_one_run(home, capsys, flag):
    assert main(["train", "-m", "attention=full,nystrom", *flag]) == 2
    assert capsys.readouterr().err == "lra: --cfg is about one run and -m about several: leave -m out\n"


def test_the_order_of_settings_stays_and_a_folder_may_have_any_name():
    words = ["a=1", "--config-dir", "lr=0.1", "~b", "a=2", "--cfg", "job"]
    assert _flags_first(words) == ["--config-dir", "lr=0.1", "--cfg", "job", "a=1", "~b", "a=2"]
