"""Wrong knobs of an attention, each refused in one line that names the value and what to type instead."""

from __future__ import annotations

import pytest

from lra.sweeps.grid import make_cells
from tests.commands.test_cli import run

CASES = [
    ("local", "block_length", "0"),
    ("local", "block_length", "1.5"),
    ("local", "neighbour_blocks", "-1"),
    ("longformer", "window", "1"),
    ("longformer", "window", "255"),
    ("longformer", "global_tokens", "-1"),
    ("bigbird", "block_length", "0"),
    ("bigbird", "window_blocks", "0"),
    ("bigbird", "window_blocks", "2"),
    ("bigbird", "global_blocks", "-1"),
    ("bigbird", "random_blocks", "-1"),
    ("skyformer", "num_landmarks", "0"),
    ("skyformer", "regularisation", "0"),
    ("skyformer", "regularisation", "nan"),
]


@pytest.mark.slow
@pytest.mark.parametrize("attention, knob, value", CASES)
def test_a_wrong_knob_gets_one_line_with_a_right_value(home, capsys, attention, knob, value):
    key = f"attention.{knob}"
    code, _, err = run(capsys, "show", "model", "size=tiny", f"attention={attention}", f"{key}={value}")
    assert code == 2
    (line,) = err.strip().splitlines()
    assert line.startswith(f"lra: {key}={value}")
    assert line.count(f"{key}=") == 2, "the value that was typed, and one to type"
    assert not list(home.rglob("*"))


@pytest.mark.parametrize("attention", ["linear", "average", "double_softmax", "cosformer"])
def test_an_attention_without_knobs_takes_none(home, capsys, attention):
    code, _, err = run(capsys, "show", "model", "size=tiny", f"attention={attention}", "attention.features=3")
    assert code == 2
    (line,) = err.strip().splitlines()
    assert "attention.features" in line


def test_a_knob_of_one_attention_is_a_row_of_its_own():
    cells = make_cells("compare", ["attention=local", "attention.neighbour_blocks=0,1", "seed=0"])
    assert [cell.name for cell in cells] == [f"listops/local seed 0 neighbour_blocks={count}" for count in (0, 1)]
    assert len({cell.folder for cell in cells}) == 2
