"""lra show protocol says all there is."""

from __future__ import annotations

import pytest

from lra.base.paths import conf_dir
from lra.cli import main
from lra.verbs.show_model import layers
from lra.verbs.show_protocol import DEPARTURES, switch_table


def test_every_switch_has_a_row_with_what_it_does():
    lines = (conf_dir() / "protocol/paper.yaml").read_text().splitlines()
    switches = {line.split(":")[0] for line in lines if line[0].isalpha()} - {"name"}
    assert {row[0] for row in switch_table()[1:]} == switches


def test_a_terminal_shows_what_no_switch_changes(capsys):
    assert main(["show", "protocol"]) == 0
    out = capsys.readouterr().out
    for departure in DEPARTURES:
        assert departure.what.split()[0] in out
    assert "endless" in out


@pytest.mark.slow
@pytest.mark.parametrize("words", [["protocol", "format=csv"], ["model", "size=tiny", "format=markdown"]])
def test_a_format_that_is_not_there_is_refused(words, capsys):
    assert main(["show", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("lra: format=")


@pytest.mark.parametrize("word", ["task=retrieval", "model.tied_layers=true"])
def test_layers_that_run_twice_are_shown_once(word):
    from lra import build
    from lra.settings import config

    cfg = config.load_config("train", ["size=tiny", word])
    model = build.build_model(cfg)
    rows = layers(model, build.build_spec(cfg).num_sequences, 256)
    assert len({name for name, *_ in rows}) == len(rows)
    assert sum(own for *_, own in rows) == sum(p.numel() for p in model.parameters())
