"""Wrong knobs of an attention, each refused in one line that names the value and what to type instead."""

from __future__ import annotations

from lra.sweeps.grid import make_cells


def test_a_knob_of_one_attention_is_a_row_of_its_own():
    cells = make_cells("compare", ["attention=local", "attention.neighbour_blocks=0,1", "seed=0"])
    assert [cell.name for cell in cells] == [f"listops/local seed 0 neighbour_blocks={count}" for count in (0, 1)]
    assert len({cell.folder for cell in cells}) == 2
