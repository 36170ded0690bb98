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
def test_every_kind_has_a_row_also_one_that_cannot_be_measured(measured, capsys, result_of):
    made = result_of("table", "plan")
    rows = [line for line in capsys.readouterr().out.splitlines() if re.match(r"\w+/\w+ ", line)]
    assert len(rows) == len(measured) == KINDS
    for kind, row in zip(made.kinds, rows, strict=True):
        assert row.split()[0] == kind.name
        assert row.endswith("; ".join(kind.notes)), "its notes"
        assert kind.notes
    problems = [str(kind.problem) for kind in made.kinds if kind.measured is None]
    assert problems == ["no room on this machine"] * 5
    assert [kind.measured.estimate.prepared for kind in made.kinds if kind.measured] == [False] * 20
    assert (made.count_missing, made.count_unknown) == (75, 15)


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
def test_the_whole_papers_table_is_planned(home, result_of):
    kinds = result_of("table", "plan", "size=tiny").kinds
    assert len(kinds) == KINDS
    for kind in kinds:
        assert [cell.number for cell in kind.cells] == ["0", "1", "2"]
        assert kind.missing == kind.cells
        assert kind.measured is not None


@pytest.mark.slow
def test_the_plan_of_a_comparison_says_how_many_seeds_a_point_needs(measured, capsys, home, result_of):
    folder = home / "published"
    folder.mkdir(parents=True)
    records = [make_record(seed=seed, accuracy=accuracy) for seed, accuracy in enumerate((0.36, 0.37, 0.38))]
    (folder / "before.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    made = result_of("compare", "plan", "task=listops", "attention=full,nystrom")
    (needed,) = made.seeds_needed.values()
    assert (needed.task, needed.rows, needed.counts[0]) == ("listops", 2, 17)
    assert needed.spread[0] == pytest.approx(1.0)
    assert needed.note in " ".join(capsys.readouterr().out.split())
    unknown = result_of("compare", "plan", "task=image", "attention=full,nystrom").seeds_needed["image"]
    assert unknown.spread is None
    assert unknown.note in " ".join(capsys.readouterr().out.split())
    assert not result_of("compare", "plan", "task=listops", "attention=full").seeds_needed


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


def test_the_plan_says_which_cells_are_extrapolated_and_from_what(home, monkeypatch, capsys, result_of):
    estimates = [make_estimate(measured_examples=1, measured_positions=256), make_estimate()]
    monkeypatch.setattr(sweeps_plan, "measure_each", lambda cfgs: iter(estimates[: len(cfgs)]))
    made = result_of("table", "plan", "task=listops", "attention=full,none")
    assert [kind.measured.is_extrapolated for kind in made.kinds] == [True, False]
    assert [kind.measured.estimate for kind in made.kinds] == estimates
    rows = [line for line in capsys.readouterr().out.splitlines() if line.startswith("listops/")]
    assert all(number in rows[0] for number in ("1 of 32 ", "256 of 2,048 "))
    assert [row.endswith(estimate.note) for row, estimate in zip(rows, estimates, strict=True)] == [True, True]
    assert not estimates[1].note


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_plan_of_large_models_ends_in_bounded_time(home, tmp_path, monkeypatch, result_of):
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    begun = time.monotonic()
    measured = [kind.measured for kind in result_of("table", "plan", "protocol=s4", "task=listops,text").kinds]
    extrapolated = [each.estimate for each in measured if each is not None and each.is_extrapolated]
    assert sum(estimate.measured_examples == 1 for estimate in extrapolated) > 6
    assert time.monotonic() - begun < 300, "two minutes, on a machine with other work"
