"""lra table protocol=s4 takes the family's own table and its published numbers."""

import pytest

from lra.settings.check_overrides import check_overrides
from lra.settings.compose import load_config
from lra.tables.grid.run_set import read_run_set


def test_a_protocol_with_a_table_of_its_own_brings_its_cells_and_numbers(home):
    run_set = read_run_set("table", ["show", "protocol=s4", "size=tiny"])
    assert (run_set.options.sweep, run_set.options.reference) == ("s4_table", "s4")
    cells = {cell.choice("attention") + cell.varied_settings for cell in run_set.cells}
    assert cells == {"s4d init=legs", "s4d init=inv", "s4d init=lin", "full", "nystrom", "none"}
    assert len(run_set.cells) == 6 * 5 * 3
    assert {run_set.cells[0].cfg.protocol.name, run_set.cells[-1].cfg.protocol.name} == {"s4"}


@pytest.mark.slow
def test_what_is_typed_counts_and_other_protocols_have_the_papers_table(home):
    typed = read_run_set("table", ["show", "protocol=s4", "reference=google", "sweep=paper_table"])
    assert (typed.options.sweep, typed.options.reference) == ("paper_table", "google")
    for words in ([], ["protocol=clean"], ["protocol=paper"]):
        options = read_run_set("table", ["show", *words]).options
        assert (options.sweep, options.reference) == ("paper_table", "paper")


@pytest.mark.some_fast(1)
@pytest.mark.parametrize("words", [[], ["mixer.init=inv"]])
def test_the_process_of_each_cell_takes_its_words(words, home):
    """An attention beside S4D does not have what the sweep varies of S4D."""
    run_set = read_run_set("table", ["run", "protocol=s4", "size=tiny", "task=listops", "seed=0", *words])
    methods = set()
    for cell in run_set.cells:
        cfg = load_config("train", check_overrides("train", list(cell.overrides), sweep=False))
        assert cfg.all_plain() == cell.cfg.all_plain()
        methods.add(cfg.mixer.name if cfg.mixer.name != "attention" else cfg.attention.name)
    assert methods == {"s4d", "full", "nystrom", "none"}
