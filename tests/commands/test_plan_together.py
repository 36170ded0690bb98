"""`lra table plan` proposes how many cells to run at a time, from memory and from a measurement."""

import pytest

from lra.cli import main
from lra.tables.grid import processes_at_once
from lra.types import UserError
from tests.tables.grid.test_estimate import make_estimate

TYPED = ("task=listops", "attention=full,nystrom")
PLAN = ("table", "plan", *TYPED)
RUN = f"lra table run {' '.join(TYPED)}"
GIB = 2**30


def measured_as(monkeypatch, **changed):
    estimate = make_estimate(step_seconds=0.5, **changed)
    monkeypatch.setattr("lra.tables.grid.plan.measure_each", lambda cfgs: (estimate for _ in cfgs))


@pytest.fixture
def machine(home, monkeypatch):
    """Eight cores and 4 GiB; a cell needs 1 GB."""
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr(processes_at_once, "free_bytes", lambda device: 4 * GIB)
    measured_as(monkeypatch)


def plan(capsys, *words):
    assert main([*PLAN, *words]) == 0
    return " ".join(capsys.readouterr().out.split())


def test_memory_and_cores_say_how_many(machine, capsys):
    assert plan(capsys).endswith(f"3 at a time, one on each core: {RUN} workers=3 trainer.threads=1")


def test_a_typed_number_is_measured_beside_one(machine, capsys, monkeypatch):
    rates = {1: 10.0, 2: 18.0, 3: 15.0}
    monkeypatch.setattr(processes_at_once, "steps_per_second", lambda words, number: rates[number])
    out = plan(capsys, "workers=3")
    assert "3 fit into memory. Steps per second of so many listops/" in out
    assert f"1: 10.0, 2: 18.0, 3: 15.0; 1.80 times one alone: {RUN} workers=2 trainer.threads=4" in out


def test_a_measurement_that_fails_is_said_and_the_plan_stands(machine, capsys, monkeypatch):
    def fails(words, number):
        raise UserError("no room")

    monkeypatch.setattr(processes_at_once, "steps_per_second", fails)
    out = plan(capsys, "workers=2")
    assert "6 cells to run" in out
    assert out.endswith("3 fit into memory; several at a time could not be measured: no room")


def test_the_command_is_the_one_that_was_typed(machine, capsys):
    assert main(["sweep", "landmarks", "plan", "attention.num_landmarks=16,32", "task=listops", "run_group='a b'"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    run = """lra sweep landmarks run attention.num_landmarks=16,32 task=listops "run_group='a b'\""""
    assert f"Run them: {run} " in said
    assert said.endswith(f"{run} workers=3 trainer.threads=1")


def test_one_cell_left_needs_no_proposal(machine, capsys):
    assert main(["table", "plan", "task=listops", "attention=full", "seed=0"]) == 0
    assert "workers=" not in capsys.readouterr().out


def test_a_cell_that_needs_all_memory_runs_alone(machine, capsys, monkeypatch):
    measured_as(monkeypatch, peak_memory_bytes=9 * GIB)
    assert plan(capsys).endswith("No more than one at a time: there is one core, or memory for one.")


def test_steps_that_take_long_are_not_timed_several_at_a_time(machine, capsys, monkeypatch):
    monkeypatch.setattr(
        processes_at_once, "steps_per_second", lambda words, number: pytest.fail("it would take minutes")
    )
    monkeypatch.setattr(
        "lra.tables.grid.plan.measure_each", lambda cfgs: (make_estimate(step_seconds=600) for _ in cfgs)
    )
    out = plan(capsys, "workers=2")
    assert "several at a time were not measured" in out
    assert "6 cells to run" in out


@pytest.mark.slow
def test_two_processes_train_at_the_same_time(home):
    words = ("size=tiny", "model.num_layers=1", "attention=full")
    assert processes_at_once.steps_per_second(words, 2) > 0
    with pytest.raises(UserError, match="nystorm"):
        processes_at_once.steps_per_second(("attention=nystorm",), 1)
