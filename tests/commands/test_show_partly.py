"""`show` says what it leaves out, and shows what it can: of other tasks, in folders that cannot be written, as CSV."""

import csv
import io
import json

import pytest

from lra.base.files import NOT_WRITABLE
from lra.cli import main
from lra.runs.published_numbers import TASKS
from lra.tables.accuracy_table import accuracy_table
from tests.tables.records import make_record


def lay(home, group: str, records: list[dict]) -> None:
    (home / group).mkdir(parents=True)
    (home / group / "made.jsonl").write_text("\n".join(map(json.dumps, records)) + "\n")


def show(capsys, *words: str) -> tuple[str, str]:
    capsys.readouterr()
    assert main(list(words)) == 0
    return capsys.readouterr()


def seeds_of(unfinished) -> dict[str, str]:
    return {method: " ".join(cell.number for cell in cells) for method, cells in unfinished.items()}


@pytest.mark.some_fast(1)
@pytest.mark.parametrize(
    "verb, group, attention", [(("compare",), "compare", "full"), (("sweep", "landmarks"), "landmarks", "nystrom")]
)
def test_records_of_a_task_that_was_not_typed_are_said(home, result_of, verb, group, attention):
    records = [make_record(task, attention, seed=seed) for task in ("text", "listops") for seed in range(2)]
    lay(home, group, records)
    made = result_of(*verb, "show")
    (other,) = made.left_out
    assert (other.count, other.kind) == (2, "task=text")
    assert other.command == f"lra {' '.join(verb)} show run_group={group} task=text"
    assert other.note in made.tables[0].table.warnings
    assert not result_of(*verb, "show", "task=text").left_out


def test_runs_that_were_asked_for_and_are_not_finished_are_said_and_rows_come_as_typed(home, result_of):
    done = [make_record(attention=name, seed=seed) for name in ("full", "nystrom") for seed in (0, 1)]
    lay(home, "compare", [*done, make_record(attention="linformer", seed=2)])
    typed = ("compare", "show", "attention=reformer,nystrom,linformer,full", "seed=0,1,2", "format=markdown")
    made = result_of(*typed)
    (shown,) = made.tables
    assert [row[0] for row in shown.table.rows] == ["nystrom", "linformer", "full"]
    lacking = {"reformer": "0 1 2", "nystrom": "2", "linformer": "0 1", "full": "2"}
    assert seeds_of(shown.unfinished) == lacking
    assert list(shown.unfinished) == list(lacking), "in the order typed"
    (note,) = made.run_set.unfinished_notes("listops", shown.unfinished)
    assert [int(number) for number in note.split(" runs ")[0].split(" of ")] == [5, 12]
    assert note in shown.table.warnings
    assert not result_of("compare", "show", "attention=full,nystrom", "seed=0,1").tables[0].unfinished


def test_a_run_with_another_value_of_a_typed_setting_is_not_the_one_that_was_asked_for(home, result_of):
    lay(home, "compare", [make_record(seed=0, num_landmarks=count) for count in (32, 64)])
    words = ("compare", "show", "attention=nystrom", "attention.num_landmarks=16,32", "seed=0")
    made = result_of(*words)
    assert seeds_of(made.tables[0].unfinished) == {"nystrom num_landmarks=16": "0"}
    assert len(made.run_set.cells) == 2


def test_stand_ins_alone_are_said():
    record = make_record("retrieval", "full", seed=0)
    record["provenance"]["data_origin"] = "stand-in"
    table = accuracy_table([record], reference="paper")
    assert table.rows == []
    assert [note.split()[0] for note in table.notes] == ["1"], "how many records are left out"


def test_the_average_is_of_the_five_tasks_whatever_else_is_there():
    records = [make_record(task, "nystrom", seed=0, accuracy=0.4) for task in TASKS]
    of_another = make_record("pathfinder", "nystrom", seed=0, accuracy=0.5)
    of_another["identity"]["task"] = "mine"
    alone, beside = (accuracy_table(some, reference="paper") for some in (records, [*records, of_another]))
    averages = [
        [line[table.columns.index("average")] for line in table.rows if line[0].strip() in ("nystrom", "paper")]
        for table in (alone, beside)
    ]
    assert averages[0] == averages[1] == ["40.00", "58.95"]


def test_csv_of_two_tasks_has_one_header_and_names_the_task(home, capsys):
    tasks = ("listops", "text")
    lay(home, "landmarks", [make_record(task, "nystrom", seed=0) for task in tasks])
    out = show(capsys, "sweep", "landmarks", "show", "task=listops,text", "format=csv").out
    assert [row["task"] for row in csv.DictReader(io.StringIO(out))] == list(tasks)


def test_what_csv_leaves_out_is_said_beside_it(home, capsys, result_of):
    lay(home, "table", [make_record("listops", "full", seed=0, size=size) for size in ("short", "full")])
    (other,) = result_of("table", "show", "format=csv").left_out
    assert (other.count, other.kind) == (1, "size=short protocol=paper")
    said = capsys.readouterr()
    assert said.err == f"{other.note}\n"
    assert "size=short" not in said.out


def test_google_has_methods_that_the_paper_has_not():
    record = make_record("listops", "full", seed=0)
    record["identity"]["attention"] = "local"
    _, row, *_ = accuracy_table([record], reference="google").rows
    assert (row[0], row[1]) == ("  google", "15.82")


@pytest.mark.parametrize("error", NOT_WRITABLE)
def test_a_table_is_shown_where_its_figure_cannot_be_written(home, monkeypatch, error, result_of):
    def refuses(*_: object, **_named: object) -> None:
        raise OSError(error, "no", "figure.png")

    lay(home, "compare", [make_record("listops", name, seed=0) for name in ("full", "nystrom")])
    monkeypatch.setattr("lra.tables.verbs.compare.plot_pareto", refuses)
    (shown,) = result_of("compare", "show").tables
    assert [row[0] for row in shown.table.rows] == ["nystrom", "full"]
    assert not shown.figures
    assert any("compare-listops" in line and f"{home}/compare" in line for line in shown.table.warnings)
