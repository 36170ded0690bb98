"""Tables on a terminal of 80 columns: no word is split, and the least columns are left out by rank."""

import io

import pytest
from rich.console import Console

from lra.tables.accuracy_table import accuracy_table
from lra.tables.comparison import contenders
from lra.tables.comparison_table import comparison_table
from lra.terminal.fit_table import print_text_table
from lra.terminal.text_table import TextTable
from tests.tables.records import make_record


def shown(table, columns: int, most_notes: int | None = None, color: str | None = None) -> str:
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        width=columns,
        soft_wrap=True,
        color_system=color,
        highlight=False,
    )
    print_text_table(console, table, most_notes=most_notes)
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
    assert_whole(text, ["listops", "retrieval", "pathfinder", "linformer", "36.50", "(2)‡", "± 0.71", "difference"], 80)
    assert "not shown in 80 columns: time, parameters, average\n" in text
    assert "not shown" not in shown(table, 200)


def test_columns_without_a_value_go_first():
    table = accuracy_table([make_record(seed=seed) for seed in range(2)], reference="paper")
    text = shown(table, 80)
    assert_whole(text, ["listops", "nystrom", "37.00 ± 0.00 (2)‡"], 80)
    assert "time" in text.split("not shown")[0]
    assert "not shown in 80 columns: text, retrieval, image, pathfinder, average\n" in text


def test_only_columns_of_the_table_are_said_to_be_left_out():
    table = TextTable(title="", columns=("name", "value" * 7), rows=[["a" * 30, "1"]], optional=("other", "value" * 7))
    assert f"not shown in 62 columns: {'value' * 7}\n" in shown(table, 62)


def test_a_comparison_keeps_its_verdict(records):
    of_task = [record for record in records if record["identity"]["task"] == "listops"]
    text = shown(comparison_table(of_task, contenders(of_task), title="listops"), 80)
    assert_whole(text, ["accuracy", "36.50 (2)", "± 0.71", "Δ over", "n.s.", "on the test set", "(2 seeds)"], 80)
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


def note_lines(text: str) -> list[str]:
    return text.rsplit("\n\n", 1)[1].splitlines()


@pytest.mark.parametrize("columns", [80, 120])
def test_notes_are_at_most_three_and_a_line_says_how_many_more_there_are(records, columns):
    table = accuracy_table(records, reference="paper").with_notes(*(f"note {number} " * 9 for number in range(9)))
    shortened, whole = shown(table, columns, most_notes=3), shown(table, columns)
    lines = note_lines(shortened)
    assert all(len(line) <= columns for line in lines)
    hidden = [note for note in table.notes if note.split(",")[0][:30] not in shortened]
    assert hidden == table.notes[3:]
    assert lines[-1] == f"{len(hidden)} more notes: notes=all"
    words = {word for note in table.notes for word in note.split()}
    assert words <= set(whole.split()), "a word is split, or a note is missing"
    assert "more notes" not in whole


def test_the_first_notes_say_what_the_numbers_are(records):
    text = shown(accuracy_table(records, reference="paper"), 80, most_notes=3)
    for said in ("over n seeds", "‡", "listops ±2"):
        assert said in text


def test_warnings_are_among_the_three_notes():
    table = TextTable(title="t", columns=("a",), rows=[["x"]], notes=[f"note {number}" for number in range(5)])
    table = table.with_warnings("a record is missing").with_details("a detail")
    shown_lines = note_lines(shown(table, 80, most_notes=3))
    assert shown_lines == ["note 0", "note 1", "a record is missing", "4 more notes: notes=all"]


def test_few_notes_are_all_there():
    table = TextTable(title="t", columns=("a",), rows=[["x"]], notes=[f"note {number}" for number in range(3)])
    assert note_lines(shown(table, 80, most_notes=3)) == table.notes


@pytest.mark.parametrize("columns", [30, 80])
def test_sentences_stand_above_the_table(columns):
    words = "one row is better than the other by a number of points that takes two lines of a narrow terminal"
    table = TextTable(title="a title", columns=("a",), rows=[["x" * 20]], sentences=[f"{words}.", "The end."])
    text = shown(table, columns)
    above = text[: text.index("a title")].splitlines()
    assert " ".join(above).split() == f"{words}. The end.".split()
    assert max(map(len, above)) <= columns
    plain = io.StringIO()
    print_text_table(Console(file=plain, width=columns), table)
    assert plain.getvalue().splitlines()[0] == f"{words}. The end."


def test_the_best_is_bold_and_the_verdict_coloured_on_a_terminal_alone(records):
    table = accuracy_table([*records, make_record(attention="nystrom", seed=7, accuracy=0.2)], reference="paper")
    styled = shown(table, 200, color="standard")
    assert "\x1b[32mwithin" in styled
    assert "\x1b[31moutside" in styled
    assert {table.rows[row][0] for row, name in table.best if name == "listops"} == {"full", "linformer"}, "equal means"
    assert sum("\x1b[1m" in line for line in styled.splitlines()) == 4, "the heads, and a row of each attention"
    plain = io.StringIO()
    print_text_table(Console(file=plain, width=200), table)
    assert "\x1b" not in plain.getvalue()


def test_columns_are_separated_by_two_spaces_at_every_width_and_in_a_pipe(records):
    table = accuracy_table(records, reference="paper")
    plain = io.StringIO()
    print_text_table(Console(file=plain, width=80), table)
    assert [line.rstrip() for line in shown(table, 200).splitlines()][:12] == plain.getvalue().splitlines()[:12]
