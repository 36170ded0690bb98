"""`figure=FILE`: a figure where the user wants it, in the format of its ending, also of a part of published records."""

import pytest

from lra.cli import main
from lra.runs.groups import shipped_records
from lra.terminal.figure_style import WIDTHS

PART = ("run_group=published/short_table.jsonl", "size=short", "attention=full,nystrom,linformer")


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def drawn(folder) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in (".png", ".pdf", ".svg")}


@pytest.mark.slow
@pytest.mark.parametrize("tasks, expected", [
    ("listops", {"mine.svg", "mine-curves.svg"}),
    ("listops,text", {"mine-listops.svg", "mine-curves-listops.svg", "mine-text.svg", "mine-curves-text.svg"}),
])  # fmt: skip
def test_a_part_of_a_published_file_has_its_figures_where_they_are_wanted(here, capsys, tasks, expected, result_of):
    made = result_of("compare", "show", *PART, f"task={tasks}", "figure=mine.svg", "figure_columns=1")
    assert drawn(here) == expected
    first = (here / min(expected, key=len)).read_text()
    assert f'width="{72 * WIDTHS[1]:g}pt"' in first
    out = capsys.readouterr().out
    assert all(str(here / name) in out for name in expected)
    figures = [figure for shown in made.tables for figure in shown.figures]
    assert {figure.path.name for figure in figures} == expected
    printed = " ".join(out.split())
    assert all(figure.caption and figure.caption in printed for figure in figures), "the captions are printed"


@pytest.mark.slow
def test_a_table_on_standard_output_stays_alone(here, capsys):
    words = ["table", "show", *PART, "task=listops,text", "format=csv"]
    assert main(words) == 0
    table = capsys.readouterr().out
    assert main([*words, "figure=heat.pdf"]) == 0
    out, err = capsys.readouterr()
    assert out == table
    assert "heat.pdf" in err
    assert drawn(here) == {"heat.pdf"}
    assert (here / "heat.pdf").read_bytes().startswith(b"%PDF")


def test_a_bench_that_is_shown_has_a_figure_where_one_is_asked_for(here, result_of):
    record = f"show={shipped_records() / 'bench_attention.json'}"
    made = result_of("bench", "attention", record, "n=256,512", "figure=b.svg")
    assert made.figure.path == here / "b.svg"
    assert drawn(here) == {"b.svg"}
    (here / "b.svg").unlink()
    made = result_of("bench", "attention", record, "n=256", "figure=b.svg")
    assert (made.draws, made.figure) == (True, None), "it says that there is none"
    assert not drawn(here)


@pytest.mark.parametrize("typed, kind, right", [
    ("figure=mine.gif", "wrong_value", "figure=mine.pdf"),
    ("figure=nowhere/mine.pdf", "missing_folder", None),
    ("figure=.", "no_file", "figure=figure.pdf"),
])  # fmt: skip
def test_what_is_no_file_of_a_figure_is_refused_before_anything_is_drawn(here, refused, typed, kind, right):
    error = refused("compare", "show", *PART, "task=listops", typed)
    assert (error.kind, error.key) == (kind, "figure")
    assert right is None or error.right == right
    assert not drawn(here)
