"""Tables on a terminal of 80 columns: no word is split, and the least columns are left out by rank."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from lra.results.accuracy_table import accuracy_table
from lra.results.comparison import comparison_table, contenders
from lra.results.tables import TextTable
from lra.terminal.fit_table import print_text_table
from tests.results.records import make_record


def shown(table, columns: int) -> str:
    console = Console(file=io.StringIO(), force_terminal=True, width=columns, soft_wrap=True, color_system=None)
    print_text_table(console, table)
    return console.file.getvalue()


def assert_whole(text: str, words, columns: int) -> None:
    assert all(len(line) <= columns for line in text.split("not shown")[0].splitlines()), (
        "a line is wider than the terminal"
    )
    for word in words:
        assert word in text, f"{word!r} is split or missing"


@pytest.fixture(scope="module")
def records():
    tasks, attentions = ("listops", "text", "retrieval", "image", "pathfinder"), ("full", "nystrom", "linformer")
    return [make_record(t, a, seed, 0.36 + seed / 100) for t in tasks for a in attentions for seed in range(2)]


def test_the_papers_table_has_all_its_tasks_in_80_columns(records):
    table = accuracy_table(records, reference="paper")
    text = shown(table, 80)
    assert_whole(text, ["listops", "retrieval", "pathfinder", "linformer", "36.50", "± 0.71 (2)‡", "difference"], 80)
    assert "not shown in 80 columns: hours, parameters, average; a wider terminal shows all" in text
    assert "not shown" not in shown(table, 200)


def test_columns_without_a_value_go_first():
    table = accuracy_table([make_record(seed=seed) for seed in range(2)], reference="paper")
    text = shown(table, 80)
    assert_whole(text, ["listops", "nystrom", "37.00 ± 0.00 (2)‡"], 80)
    assert "hours" in text.split("not shown")[0]
    assert "not shown in 80 columns: text, retrieval, image, pathfinder, average; a" in text


def test_a_comparison_keeps_its_verdict(records):
    of_task = [record for record in records if record["identity"]["task"] == "listops"]
    text = shown(comparison_table(of_task, contenders(of_task), title="listops"), 80)
    assert_whole(text, ["accuracy", "36.50", "± 0.71 (2)", "Δ over", "n.s.", "on the test set", "(2 seeds)"], 80)
    assert "not shown in 80 columns: " in text


@pytest.mark.parametrize("columns", [12, 30])
def test_a_terminal_too_narrow_for_the_tasks_lists_the_cells(records, columns):
    text = shown(accuracy_table(records, reference="paper"), columns)
    assert "pathfinder: 36.50 ± 0.71 (2)‡" in text


def test_prose_is_broken_between_words_and_keeps_its_column():
    rows = [["listops", "10", "nested operations on digits, " * 6], ["text", "2", "positive or negative?"]]
    table = TextTable(
        title="tasks", columns=("task", "classes", "what"), rows=rows, optional=("what",), prose=("what",)
    )
    text = shown(table, 60)
    assert_whole(text, ["listops", "classes", "operations", "negative?"], 60)
    assert "not shown" not in text


def test_a_long_name_is_whole_where_heads_and_prose_may_be_broken():
    rows = [["double_softmax", "14.2", "14.2–14.3", "a word and some more words"]] * 2
    table = TextTable(
        title="t", columns=("method", "forward + backward ms", "quartiles", "why"), rows=rows, prose=("why",)
    )
    for columns in (44, 50, 60):
        assert_whole(shown(table, columns), ["double_softmax", "14.2–14.3", "backward", "words"], columns)
