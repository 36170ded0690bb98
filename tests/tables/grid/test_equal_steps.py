"""Beside each pretrained cell of a comparison stands one from scratch, once, with the steps of both stages."""

from lra.base.overrides import Overrides
from lra.tables.grid.equal_steps import FROM_SCRATCH, cells_of
from lra.tables.grid.run_set import read_run_set

WORDS = ["task=listops", "size=tiny", "attention=full,none", "recipe.steps=4", "pretrain.steps=6", "seed=0,1"]


def described(cells):
    return [
        (cell.choice("attention"), cell.choice("seed"), cell.cfg.is_pretrained, cell.cfg.recipe.steps) for cell in cells
    ]


def test_a_cell_from_scratch_comes_before_each_pretrained_one():
    cells = cells_of("compare", Overrides([*WORDS, "pretrain=masked", FROM_SCRATCH]))
    expected = [
        (method, seed, pretrained, 4 if pretrained else 10)
        for seed in "01"
        for method in ("full", "none")
        for pretrained in (False, True)
    ]
    assert described(cells) == expected
    assert not any("pretrain" in text for cell in cells[::2] for text in cell.overrides)


def test_without_the_word_or_a_pretrained_cell_nothing_is_added():
    assert len(cells_of("compare", Overrides([*WORDS, "pretrain=masked"]))) == 4
    assert cells_of("compare", Overrides([*WORDS[:4], FROM_SCRATCH])) == cells_of("compare", Overrides(WORDS[:4]))


def test_rows_that_are_typed_beside_stay_and_none_is_there_twice():
    words = [*WORDS[:2], "attention=full", *WORDS[3:5], "seed=0", "pretrain=none,masked", FROM_SCRATCH]
    shown = described(cells_of("compare", Overrides(words)))
    assert shown == [("full", "0", False, 4), ("full", "0", False, 10), ("full", "0", True, 4)]


def test_lra_compare_asks_for_them_where_pretrain_is_typed(home):
    assert len(read_run_set("compare", ["plan", *WORDS, "pretrain=masked"]).cells) == 8
    assert len(read_run_set("compare", ["plan", *WORDS[:4]]).cells) == 6
    assert len(read_run_set("table", ["plan", *WORDS, "pretrain=masked"]).cells) == 4


def test_the_sweep_of_the_project_has_both_kinds_of_five_seeds(home):
    run_set = read_run_set("compare", ["show", "sweep=pretraining"])
    assert described(run_set.cells[:4]) == [
        *(("full", "1", False, 1200), ("full", "1", True, 600)),
        *(("nystrom", "1", False, 1200), ("nystrom", "1", True, 600)),
    ]
    assert len(run_set.cells) == 5 * 4
