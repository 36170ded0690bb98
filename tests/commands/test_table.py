"""`lra table` as a user drives it."""

import json
import re
import signal

import pytest

from lra.cli import main
from lra.runs.schema import Record
from lra.tables.grid.runner import failed_cells
from lra.tables.notes_on_runs import protocol_steps_and_size
from tests.conftest import lra
from tests.disturbance import disturbed, steps
from tests.tables.records import make_record

GRID = ("size=tiny", "task=listops", "attention=nystrom", "recipe.steps=2", "recipe.eval_every=2", "logger=csv")


def run(capsys, *words):
    capsys.readouterr()
    assert main(["table", *words]) == 0
    return capsys.readouterr().out


def numbers(made) -> dict[tuple[str, str], dict]:
    """The numbers of each cell of the table that `lra table` hands back, by method and task; no empty cells."""
    (shown,) = made.tables
    return {(row["attention"], row["task"]): row for row in shown.table.csv_rows if row["count"]}


@pytest.fixture
def published(home):
    folder = home / "published"
    folder.mkdir(parents=True)
    lines = [json.dumps(make_record(seed=seed, accuracy=0.37 + seed / 100)) for seed in range(3)]
    (folder / "listops.jsonl").write_text("\n".join(lines) + "\n")
    return folder


@pytest.mark.slow
def test_run_trains_what_is_missing_and_shows_the_table(home, result_of):
    words = ("table", "run", *GRID, "seed=0", "attention.num_landmarks=8")
    made = result_of(*words)
    (result,) = (home / "table").rglob("result.json")
    record = json.loads(result.read_text())
    (((method, task), cell),) = numbers(made).items()
    assert (method, task, cell["count"]) == ("nystrom", "listops", 1)
    assert cell["mean"] == 100 * record["outcome"]["test_accuracy"]
    assert cell["origins"] == record["provenance"]["data_origin"]
    assert protocol_steps_and_size([Record(record)]) in made.tables[0].table.title, "it is not the benchmark's size"
    written = result.stat().st_mtime_ns
    assert numbers(result_of(*words)) == numbers(made)
    assert result.stat().st_mtime_ns == written, "a finished cell is not run again"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_run_notes_what_fails(home, refused, handed_back):
    words = (*GRID, "seed=0", "attention.num_landmarks=8", "attention.value_skip_taps=35,34")
    error = refused("table", "run", *words)
    assert (error.kind, error.value) == ("failed_cells", 1)
    (made,) = handed_back
    assert (made.failed, made.run_set.finished, len(made.run_set.cells)) == (1, 1, 2)
    (line,) = failed_cells(made.run_set.cells).values()
    assert "attention.value_skip_taps=34" in line
    assert [(cell, row["count"]) for cell, row in numbers(made).items()] == [(("nystrom", "listops"), 1)]


@pytest.mark.slow
def test_plan_names_state_time_and_memory_before_anything_runs(home, result_of):
    plan = result_of("table", "plan", *GRID, "seed=0,1")
    (kind,) = plan.kinds
    assert (kind.name, [cell.number for cell in kind.cells]) == ("listops/nystrom", ["0", "1"])
    assert kind.missing == kind.cells
    assert 0 < kind.measured.estimate.step_seconds < 10
    assert 2**20 < kind.measured.estimate.peak_memory_bytes < 2**36
    assert kind.measured.hours > 0
    assert plan.count_missing == 2
    assert not list(home.rglob("*.ckpt"))


@pytest.mark.slow
def test_show_reads_published_records_in_every_form(published, capsys, tmp_path, result_of):
    made = result_of("table", "show", "run_group=published", "notes=all")
    of_cell = {"count": 3, "mean": pytest.approx(38), "std": pytest.approx(1), "origins": "generated"}
    of_cell |= {"reference": "paper", "difference": pytest.approx(0.85), "inside": True}
    shown = numbers(made)["nystrom", "listops"]
    assert {key: shown[key] for key in of_cell} == of_cell
    assert made.tables[0].table.rows[0][made.tables[0].table.columns.index("listops")] == "38.00 ± 1.00 (3)‡"
    printed = " ".join(capsys.readouterr().out.split())
    assert all(note in printed for note in made.tables[0].table.notes)
    for form, said in (("markdown", "38.00 ± 1.00 (3)‡ |"), ("latex", r"\toprule"), ("csv", "nystrom,listops,paper,3")):
        assert said in run(capsys, "show", "run_group=published", f"format={form}")
    run(capsys, "show", "run_group=published", f"out={tmp_path}/table.tex")
    assert r"\bottomrule" in (tmp_path / "table.tex").read_text()


def test_show_leaves_out_and_names_a_broken_record(published, result_of):
    with (published / "listops.jsonl").open("a") as file:
        file.write('{"identity": 1, "schema_version": 1}\n')
    made = result_of("table", "show", "run_group=published")
    cell = numbers(made)["nystrom", "listops"]
    assert (cell["count"], cell["mean"], cell["std"]) == (3, pytest.approx(38), pytest.approx(1))
    (problem,) = made.run_set.problems
    assert "listops.jsonl, line 4" in problem
    assert problem in made.tables[0].table.warnings


def test_notes_are_three_and_all_of_them_where_they_are_asked_for(published, capsys):
    csv = run(capsys, "show", "run_group=published", "format=csv")
    with (published / "listops.jsonl").open("a") as file:
        file.write('{"identity": 1, "schema_version": 1}\n' * 9)
    short, whole, markdown = (
        run(capsys, "show", "run_group=published", *words) for words in ([], ["notes=all"], ["format=markdown"])
    )
    lines = short.rsplit("\n\n", 1)[1].splitlines()
    assert len(lines) == 4
    assert "line 4" in lines[1], "what is missing is said first"
    left_out = int(re.fullmatch(r"(\d+) more notes: notes=all", lines[-1])[1])
    assert len(whole.rsplit("\n\n", 1)[1].splitlines()) == 3 + left_out
    assert all(f"line {number}" in text for number in range(4, 13) for text in (whole, markdown))
    assert run(capsys, "show", "run_group=published", "format=csv", "notes=short") == csv


def test_show_is_of_what_was_asked_for(published, result_of):
    cell = numbers(result_of("table", "show", "run_group=published", "seed=1,2"))["nystrom", "listops"]
    assert (cell["count"], cell["mean"], cell["std"]) == (2, pytest.approx(38.5), pytest.approx(0.5**0.5))
    made = result_of("table", "show", "run_group=published", "task=text")
    assert not made.tables
    assert [(other.count, other.kind) for other in made.there] == [(3, "size=full protocol=paper")]


def test_a_file_of_published_records_that_is_not_there_is_refused(home, refused):
    error = refused("table", "show", "run_group=published/shorttable.jsonl")
    assert (error.kind, error.right[0]) == ("no_records", "lra table show run_group=published/short_table.jsonl")
    assert refused("table", "show", "run_group=later").kind == "no_records"


def test_show_says_what_is_of_another_size_or_protocol(published, result_of):
    made = result_of("table", "show", "run_group=published", "size=tiny")
    assert [(other.count, other.kind) for other in made.there] == [(3, "size=full protocol=paper")]
    assert not made.left_out
    with (published / "tiny.jsonl").open("w") as file:
        file.write(json.dumps(make_record(size="tiny")) + "\n")
    made = result_of("table", "show", "run_group=published", "size=tiny")
    (other,) = made.left_out
    assert (other.count, other.kind) == (3, "size=full protocol=paper")
    assert other.note in made.tables[0].table.warnings
    assert not made.there


@pytest.mark.slow
@pytest.mark.some_in_ci(1)
@pytest.mark.parametrize("launcher", ["joblib", "submitit_local"])
@pytest.mark.exhaustive
def test_two_workers_of_a_hydra_launcher_share_the_cells(launcher, data_dir, home, result_of):
    words = ("table", "run", *GRID, "seed=0,1,2", "workers=2", f"hydra/launcher={launcher}")
    done = lra(*words, data=data_dir, runs=home)
    assert done.returncode == 0, done.stderr
    assert len(list((home / "table").rglob("result.json"))) == 3
    made = result_of("table", "show", *GRID, "seed=0,1,2")
    assert (made.run_set.finished, len(made.run_set.cells)) == (3, 3)
    assert [(cell, row["count"]) for cell, row in numbers(made).items()] == [(("nystrom", "listops"), 3)]


@pytest.mark.slow
def test_a_plain_sweep_goes_on_after_a_run_that_fails(data_dir, tmp_path):
    done = lra("train", "-m", *GRID, "attention.value_skip_taps=4,3", data=data_dir, runs=tmp_path / "runs")
    assert done.returncode == 2
    assert done.stderr.count("lra: attention.value_skip_taps=4 ") == 2, "at once and at the end"
    assert len(list((tmp_path / "runs").rglob("result.json"))) == 1


@pytest.mark.slow
def test_a_plain_sweep_with_a_value_out_of_range_starts_none_of_its_runs(data_dir, tmp_path):
    done = lra("train", "-m", *GRID, "attention.num_landmarks=8,0", data=data_dir, runs=tmp_path / "runs")
    assert done.returncode == 2
    assert done.stderr.count("lra: attention.num_landmarks=0 ") == 1
    assert not (tmp_path / "runs").exists()


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_table_killed_three_times_is_complete_and_right_at_the_end(data_dir, tmp_path):
    """The accuracies are those of runs that nothing has disturbed."""
    words = ("table", "run", *GRID[:1], "task=listops", "attention=nystrom,full", "seed=0,1", "recipe.steps=30")
    words += (
        "recipe.eval_every=10",
        "callbacks.checkpoint_every_seconds=0.2",
        "logger=csv",
        "callbacks.log_every_steps=1",
    )
    killed, whole = tmp_path / "killed", tmp_path / "whole"
    for _ in range(3):
        before = sum(steps(killed))
        with disturbed(*words, data=data_dir, runs=killed) as command:
            command.until(lambda before=before: sum(steps(killed)) > before + 10)
            command.end(signal.SIGKILL)
    assert len(list(killed.rglob("result.json"))) < 4, "the kills came too late"
    for runs in (killed, whole):
        done = lra(*words, data=data_dir, runs=runs)
        assert done.returncode == 0, done.stderr
    found = [
        {path.parent.relative_to(runs): json.loads(path.read_text())["outcome"] for path in runs.rglob("result.json")}
        for runs in (killed, whole)
    ]
    assert len(found[0]) == 4
    assert found[0] == found[1]
