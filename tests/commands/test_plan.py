"""`lra table plan`: every kind of cell has its row, what was measured is kept."""

import json
import re
import time

import pytest

from lra.cli import main
from lra.tables.grid import plan as sweeps_plan
from lra.tables.grid import run_set
from lra.terminal import console as terminal
from lra.terminal.console import make_console, work_progress
from lra.types import UserError
from tests.conftest import lra
from tests.tables.grid.test_estimate import make_estimate
from tests.tables.records import make_record

KINDS = 25
FOUR = ("task=listops,pathfinder", "attention=full,nystrom")


@pytest.fixture
def measured(home, monkeypatch):
    """Cells that were measured; Pathfinder's cannot be."""
    cells = []

    def measure_each(cfgs):
        for cfg in cfgs:
            cells.append(cfg)
            unmeasured = cfg.task.name == "pathfinder"
            yield UserError("no room on this machine") if unmeasured else make_estimate(prepared=False)

    monkeypatch.setattr(sweeps_plan, "measure_each", measure_each)
    return cells


def plan(capsys, *words):
    capsys.readouterr()
    assert main(["table", "plan", *words]) == 0
    return capsys.readouterr().out


@pytest.mark.slow
def test_every_kind_has_a_row_also_one_that_cannot_be_measured(measured, capsys):
    out = plan(capsys)
    rows = [line for line in out.splitlines() if re.match(r"\w+/\w+ ", line)]
    assert len(rows) == len(measured) == KINDS
    assert sum("cannot be measured: no room on this machine" in row for row in rows) == 5
    assert sum("upper bound: data not prepared" in row for row in rows) == 20
    assert "75 cells to run" in out
    assert "(15 that could not be measured are not counted)" in out


@pytest.mark.slow
def test_what_was_measured_is_not_measured_again_bounds_included(measured, capsys):
    first = plan(capsys, *FOUR)
    assert plan(capsys, *FOUR) == first
    assert len(measured) == 4 + 2, "only what could not be measured is tried again"


@pytest.mark.slow
def test_a_kept_estimate_of_another_version_or_a_broken_file_is_measured_anew(measured, capsys, home):
    plan(capsys, "task=listops", "attention=full")
    for text in ("{", "[]", '{"x": 1}', (home / "table/plan.json").read_text().replace("batch_size", "batch")):
        (home / "table/plan.json").write_text(text)
        measured.clear()
        plan(capsys, "task=listops", "attention=full")
        assert measured


@pytest.mark.slow
def test_rows_fit_a_terminal_of_80_columns_but_for_their_notes(measured, capsys):
    for line in plan(capsys, *FOUR).split(" cells to run")[0].splitlines()[2:-1]:
        assert len(line.split("  upper")[0].split("  cannot")[0]) <= 80


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_whole_papers_table_is_planned(data_dir, tmp_path):
    done = lra("table", "plan", "size=tiny", data=data_dir, runs=tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    rows = [line for line in done.stdout.splitlines() if re.match(r"\w+/\w+ +0,1,2 +0 of 3 +\d+\.\d{3} ", line)]
    assert len(rows) == KINDS, done.stdout


@pytest.mark.slow
def test_the_plan_of_a_comparison_says_how_many_seeds_a_point_needs(measured, capsys, home):
    folder = home / "published"
    folder.mkdir(parents=True)
    records = [make_record(seed=seed, accuracy=accuracy) for seed, accuracy in enumerate((0.36, 0.37, 0.38))]
    (folder / "before.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    capsys.readouterr()
    assert main(["compare", "plan", "task=listops", "attention=full,nystrom"]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "listops: a difference of 1 point" in out
    assert "from 17 seeds on" in out
    assert "1.00 points" in out
    assert main(["compare", "plan", "task=image", "attention=full,nystrom"]) == 0
    assert "seeds needed are unknown" in " ".join(capsys.readouterr().out.split())
    assert main(["compare", "plan", "task=listops", "attention=full"]) == 0
    assert "seeds needed" not in capsys.readouterr().out


@pytest.mark.parametrize("what", ["plan", "run"])
def test_a_line_is_printed_before_anything_is_composed_or_imported(what, home, capsys, monkeypatch):
    class ReachedError(Exception):
        pass

    def reached(*_, **__):
        raise ReachedError

    for slow in ("load_config", "check_overrides", "RunSet"):
        monkeypatch.setattr(run_set, slow, reached)
    with pytest.raises(ReachedError):
        run_set.read_run_set("table", [what, "protocol=s4"])
    assert len(capsys.readouterr().out.splitlines()) == 1


def test_a_pipe_has_a_line_of_progress_now_and_then(capsys, monkeypatch):
    now = iter([0.0, 1.0, 2.0, 6.0, 6.0, 7.0])
    monkeypatch.setattr(terminal.time, "monotonic", lambda: next(now))
    with work_progress(make_console(), 4, in_pipe=True) as advance:
        for cell in "abcd":
            advance(cell, 1)
    assert capsys.readouterr().out.splitlines() == ["75% c"]
    with work_progress(make_console(), 4) as advance:
        advance("a", 1)
    assert capsys.readouterr().out == ""


def test_the_plan_says_which_cells_are_extrapolated_and_from_what(home, monkeypatch, capsys):
    estimates = [make_estimate(measured_examples=1, measured_positions=256), make_estimate()]
    monkeypatch.setattr(sweeps_plan, "measure_each", lambda cfgs: iter(estimates[: len(cfgs)]))
    rows = [
        line for line in plan(capsys, "task=listops", "attention=full,none").splitlines() if line.startswith("listops/")
    ]
    assert ["extrapolated from 1 of 32 examples, 256 of 2,048 positions" in row for row in rows] == [True, False]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_plan_of_large_models_ends_in_bounded_time(tmp_path):
    begun = time.monotonic()
    done = lra("table", "plan", "protocol=s4", "task=listops,text", data=tmp_path / "data", runs=tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    assert len(re.findall(r"extrapolated from 1 of ", done.stdout)) > 6, done.stdout
    assert time.monotonic() - begun < 300, "two minutes, on a machine with other work"
