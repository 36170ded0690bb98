"""lra show protocol says all there is."""

import re

import pytest

from lra.base.paths import conf_dir
from lra.cli import main
from lra.verbs.show_model import layers
from lra.verbs.show_protocol import deviations, switch_table, task_table


def protocol(name: str) -> dict[str, str]:
    lines = (conf_dir() / f"protocol/{name}.yaml").read_text().splitlines()
    return {
        key: value.split("#")[0].strip() for key, value in (line.split(": ", 1) for line in lines if line[0].isalpha())
    }


def test_every_switch_has_a_row_and_a_row_for_each_of_its_values():
    rows = switch_table()[1:]
    switches = [row[0] for row in rows if not row[0].startswith(" ")]
    assert sorted(switches) == sorted(set(protocol("paper")) - {"name"})
    switch, having = "", set()
    for name, protocols, meaning in rows:
        if name.startswith(" "):
            having |= {(each, switch, name.strip()) for each in protocols.split(", ") if each}
        else:
            switch = name
            assert meaning, switch
    values = {
        (name, *item) for name in ("paper", "clean", "s4") for item in protocol(name).items() if item[0] != "name"
    }
    assert having == values


@pytest.mark.parametrize("columns", [80, 120])
def test_a_terminal_shows_tables_whose_lines_fit(columns, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(columns))
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("NO_COLOR", "1")
    assert main(["show", "protocol"]) == 0
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in capsys.readouterr().out.splitlines()]
    assert max(map(len, lines)) == columns
    assert sum(set(line) == {"─"} for line in lines) == 2, "one rule below the head of each of two tables"
    assert any(line.split()[:2] == ["null", "clean,"] for line in lines)


def test_a_pipe_shows_what_no_switch_changes(capsys):
    assert main(["show", "protocol"]) == 0
    out = capsys.readouterr().out
    assert all(what in out and why in out for what, _, _, why in deviations("paper")[1:])


@pytest.mark.slow
@pytest.mark.parametrize("words", [["protocol", "format=csv"], ["model", "size=tiny", "format=markdown"]])
def test_a_format_that_is_not_there_is_refused(words, capsys):
    assert main(["show", *words]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("lra: format=")


@pytest.mark.parametrize("word", ["task=retrieval", "model.tied_layers=true"])
def test_layers_that_run_twice_are_shown_once(word):
    from lra import from_config
    from lra.settings.compose import load_config

    cfg = load_config("train", ["size=tiny", word])
    model = from_config.build_model(cfg)
    rows = layers(model, from_config.build_spec(cfg).num_sequences, 256)
    assert len({name for name, *_ in rows}) == len(rows)
    assert sum(own for *_, own in rows) == sum(p.numel() for p in model.parameters())


@pytest.mark.slow
def test_a_protocol_with_files_of_its_own_shows_what_it_sets_for_each_task_and_its_deviations(capsys):
    columns, *rows = task_table("s4", "full")
    values = {option: dict(zip(columns[1:], texts, strict=True)) for option, *texts in rows}
    assert (values["model.norm_place"]["text"], values["model.norm_place"]["listops"]) == ("before", "after")
    assert (values["recipe.steps"]["image"], values["mixer.copies (s4d)"]["pathx"]) == ("180000", "null")
    assert (values["model.positions (s4d)"]["text"], "model.width (s4d)" in values) == ("none", False)
    assert "model.tied_layers" not in values, "as under protocol=paper"
    assert not task_table("paper", "full")
    assert task_table("s4", "short")[0] == ("option", "image", "listops")
    assert main(["show", "protocol", "protocol=s4", "format=markdown"]) == 0
    out = capsys.readouterr().out
    for what, *_ in deviations("s4")[1:]:
        assert what in out
    assert deviations("paper")[1][1] not in out
