"""Configurations are composed when they are needed, each once: 75 cells of the table would take seconds."""

import pytest

from lra.base.overrides import Overrides
from lra.cli import main
from lra.settings import compose as composing
from lra.tables.grid.cell import Cell, make_cells


@pytest.fixture
def composed(monkeypatch):
    """The words of everything that is composed from here on."""
    calls = []
    composing._compose.cache_clear()
    compose = composing.compose
    monkeypatch.setattr(
        composing, "compose", lambda name, words, **more: calls.append((name, *words)) or compose(name, words, **more)
    )
    return calls


def test_the_names_of_cells_are_known_from_their_words(composed):
    cells = make_cells("paper_table", [])
    composed.clear()
    assert len({tuple(cell.choice(key) for key in ("task", "attention", "seed")) for cell in cells}) == 75
    assert composed == []


@pytest.mark.parametrize(
    "words, key, name",
    [
        (("seed=1_000",), "seed", "1000"),
        (("task='text'",), "task", "text"),
        ((), "attention", "nystrom"),
        (("attention.name=mine", "attention=full"), "attention", "mine"),
        (("attention=full", "attention=linformer"), "attention", "linformer"),
    ],
)
def test_where_words_are_not_plain_the_configuration_says_what_was_chosen(words, key, name):
    cell = Cell(overrides=Overrides(words))
    assert cell.choice(key) == name == str(cell.cfg.seed if key == "seed" else getattr(cell.cfg, key).name)


def test_seeds_of_one_kind_are_composed_once(composed):
    cells = make_cells("paper_table", ["task=text", "attention=full"])
    composed.clear()
    assert [cell.cfg.seed for cell in cells] == [0, 1, 2]
    assert len(composed) == 1


@pytest.mark.slow
def test_showing_a_table_composes_one_of_its_cells(home, composed, capsys):
    assert main(["table", "show", "size=tiny", "seed=0,1"]) == 0
    assert "No record yet" in capsys.readouterr().out
    assert len([words for words in composed if any(word.startswith("attention=") for word in words)]) == 1


@pytest.mark.slow
@pytest.mark.parametrize("what", ["plan", "run"])
def test_what_is_to_be_run_is_checked_in_every_cell(home, what, capsys):
    assert main(["table", what, "task=listops", "attention=nystrom,full", "attention.num_landmarks=8"]) == 2
    assert "attention" in capsys.readouterr().err
