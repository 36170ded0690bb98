"""`all` in place of names: every task, every attention, every mixer."""

import pytest

from lra.base.paths import conf_names
from lra.cli import main
from lra.settings.run_config import ATTENTION
from lra.settings.several_values import spell_out_all
from lra.tables.grid.cell import make_cells
from lra.tables.grid.run_set import ACTIONS
from lra.tables.verbs import compare, table, tune
from tests.tables.grid.test_composing import composed as composed

MIXERS = [name for name in conf_names("mixer") if name != ATTENTION]


def rows(sweep: str, *words: str) -> list[str]:
    return [cell.choice("attention") for cell in make_cells(sweep, spell_out_all(sweep, words))]


@pytest.mark.slow
def test_all_attentions_are_every_attention_and_every_mixer_once_the_sweeps_own_first():
    chosen = rows("compare", "attention=all", "task=listops", "seed=0")
    others = [name for name in conf_names("attention") if name not in ("nystrom", "full")]
    assert [name for name in chosen if name not in MIXERS] == ["nystrom", "full", *others]
    assert sorted(name for name in chosen if name in MIXERS) == MIXERS


@pytest.mark.slow
def test_all_beside_names_that_are_typed():
    assert set(rows("compare", "attention=all", "mixer=s4d", "seed=0")) == {*conf_names("attention"), "s4d"}
    assert rows("compare", "attention=full", "mixer=all", "seed=0") == ["full", *MIXERS]
    assert rows("compare", "mixer=all", "seed=0") == MIXERS
    assert rows("compare", "seed=0") == ["nystrom", "full"]


def test_all_tasks_are_those_of_the_table_and_the_others():
    words = spell_out_all("paper_table", ["task=all", "attention=full", "seed=0"])
    tasks = [cell.choice("task") for cell in make_cells("paper_table", words)]
    assert tasks == ["listops", "text", "retrieval", "image", "pathfinder", "pathx"]


@pytest.mark.slow
def test_an_attention_of_a_folder_of_ones_own_is_among_all(tmp_path, monkeypatch):
    (tmp_path / "attention").mkdir()
    (tmp_path / "attention/mine.yaml").write_text("# Mine. Cost in L: O(L).\nname: mine\n")
    monkeypatch.setenv("LRA_CONF_PATH", str(tmp_path))
    assert "mine" in rows("compare", "attention=all", "seed=0")


@pytest.mark.slow
@pytest.mark.parametrize("verb", ["compare", "table"])
@pytest.mark.exhaustive
def test_a_verb_takes_all_and_composes_one_cell_to_show_that_there_is_no_record(verb, home, composed, capsys):
    assert main([verb, "show", "task=all", "attention=all", "seed=0", "size=tiny"]) == 0
    assert "No record yet" in capsys.readouterr().out
    assert len([words for words in composed if "hydra.mode=RUN" in words]) <= 1


@pytest.mark.parametrize("words", [["train", "attention=all"], ["train", "-m", "attention=all", "size=tiny"]])
def test_a_run_has_one_attention(words, home, refused):
    error = refused(*words)
    assert (error.kind, error.key, error.value) == ("unknown_choice", "attention", "all")


@pytest.mark.slow
def test_a_sweep_over_landmarks_has_attentions_with_landmarks(home, refused):
    error = refused("sweep", "landmarks", "attention=all", "size=tiny", "seed=0")
    assert "attention.num_landmarks" in str(error)


def test_the_verbs_with_a_plan_name_the_actions_that_they_read():
    """The command line reads `SUBCOMMANDS` from the file, without an import."""
    assert table.SUBCOMMANDS == compare.SUBCOMMANDS == tune.SUBCOMMANDS == ACTIONS
