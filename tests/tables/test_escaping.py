"""What a record says is text in every form: no markup, no formula, no TeX, no terminal code comes out of it."""

import csv
import io

import pytest
from rich.console import Console

from lra.terminal.text_table import TextTable

HOSTILE = "x\n\\input{/etc/passwd}<script>alert(1)</script>[red]|`*\x1b[31m\x07\u202e\ud800$\\frac{"


@pytest.fixture
def table():
    return TextTable(
        title=HOSTILE,
        columns=("attention", HOSTILE),
        rows=[[HOSTILE, "=cmd|' /C calc'!A0"], ["  paper", "37.15"]],
        notes=[HOSTILE],
    ).with_notes(HOSTILE)


def test_in_no_form_is_there_a_control_character_or_a_line_that_a_record_began(table):
    for text in (table.to_markdown(), table.to_latex(), table.to_csv()):
        assert all(sign == "\n" or sign.isprintable() for sign in text)
        assert not any(line.lstrip().startswith(("\\input", "<script")) for line in text.splitlines())


def test_latex_holds_no_command_of_a_records(table):
    code = [line for line in table.to_latex().splitlines() if not line.startswith("%")]
    assert "\\input" not in "\n".join(code)
    assert "\\textbackslash{}input" in "\n".join(code)
    assert sum(line.startswith("% ") for line in table.to_latex().splitlines()) == 3, (
        "two notes, and what it needs, a line each"
    )


def test_markdown_holds_no_markup_of_a_records(table):
    text = table.to_markdown()
    assert "<script" not in text
    assert "&lt;script&gt;" in text
    assert "\\|\\`\\*" in text
    link = TextTable(title="[x](https://example.org)", columns=("a",), rows=[["![y][z]"]]).to_markdown()
    assert "[x\\](" in link
    assert "![y\\][" in link
    assert "num_landmarks" in TextTable(title="", columns=("num_landmarks",), rows=[["x"]]).to_markdown()


@pytest.mark.parametrize("sign", "=+-@\t\r")
def test_csv_holds_no_formula_but_numbers_stay_numbers(sign):
    plain = TextTable(title="", columns=("a", "b"), rows=[[f"{sign}cmd", "-1.5"], [f"  {sign}x", "+2"]]).to_csv()
    rows = list(csv.reader(io.StringIO(plain)))
    safe = "'" if sign in "=+-@" else "\\"  # a tab or a return is spelled out
    assert [row[0].strip()[0] for row in rows[1:]] == [safe, safe]
    assert [row[1] for row in rows[1:]] == ["-1.5", "+2"]
    cells = TextTable(title="", columns=("a",), rows=[], csv_rows=[{f"{sign}key": f"{sign}cmd", "mean": -0.5}]).to_csv()
    header, cell = csv.reader(io.StringIO(cells))
    assert header[0].startswith(safe)
    assert cell[0].startswith(safe)
    assert cell[1] == "-0.5"


def test_a_terminal_gets_words_alone(table):
    console = Console(record=True, width=400, file=io.StringIO(), force_terminal=True)
    console.print(table.to_rich())
    text = console.export_text(styles=False)
    assert "[red]" in text, "shown as it is, not taken for a colour"
    assert "\\x1b[31m" in text
    assert "\x07" not in text


def test_a_figure_draws_any_name(tmp_path):
    from lra.tables.cells import Row, TableCell
    from lra.tables.comparison import Contender
    from lra.tables.figures.comparison import plot_pareto
    from lra.tables.variants import RowKey
    from tests.tables.records import make_record

    cell = TableCell([make_record()])
    row = Row(key=RowKey("nystrom"), name=HOSTILE, cells={"listops": cell})
    one = Contender(row=row, cell=cell, over_seeds=None, over_examples=None, pairs=0)
    text = plot_pareto([one], tmp_path / "f.svg", title=HOSTILE, majority_rate=0.17).path.read_text()
    assert "<script" not in text
