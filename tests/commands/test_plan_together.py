"""`lra table plan` proposes how many cells to run at a time, from memory and from a measurement."""

import pytest

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
    monkeypatch.setattr("lra.base.openmp.cores", lambda: 8)
    monkeypatch.setattr(processes_at_once, "free_bytes", lambda device: 4 * GIB)
    measured_as(monkeypatch)


def test_memory_and_cores_say_how_many(machine, result_of):
    proposal = result_of(*PLAN).proposal
    assert (proposal.at_once, proposal.command) == (3, f"{RUN} workers=3")


def test_a_typed_number_is_measured_beside_one(machine, monkeypatch, result_of):
    rates = {1: 10.0, 2: 18.0, 3: 15.0}
    monkeypatch.setattr(processes_at_once, "steps_per_second", lambda words, number: rates[number])
    proposal = result_of(*PLAN, "workers=3").proposal
    assert (proposal.fit, proposal.rates, proposal.at_once) == (3, rates, 2)
    assert proposal.command == f"{RUN} workers=2"


def test_a_measurement_that_fails_is_said_and_the_plan_stands(machine, capsys, monkeypatch, result_of):
    problem = UserError("no room")

    def fails(words, number):
        raise problem

    monkeypatch.setattr(processes_at_once, "steps_per_second", fails)
    made = result_of(*PLAN, "workers=2")
    assert (made.count_missing, made.count_unknown) == (6, 0)
    assert (made.proposal.fit, made.proposal.at_once, made.proposal.problem) == (3, None, problem)
    assert capsys.readouterr().out.endswith("no room\n")


def test_the_command_is_the_one_that_was_typed(machine, capsys, result_of):
    made = result_of("sweep", "landmarks", "plan", "attention.num_landmarks=16,32", "task=listops", "run_group='a b'")
    run = """lra sweep landmarks run attention.num_landmarks=16,32 task=listops "run_group='a b'\""""
    assert (made.command, made.proposal.command) == (run, f"{run} workers=3")
    assert [line.partition("lra ")[1:] for line in capsys.readouterr().out.splitlines()[-2:]] == [
        ("lra ", command.removeprefix("lra ")) for command in (made.command, made.proposal.command)
    ]


def test_one_cell_left_needs_no_proposal(machine, result_of):
    assert result_of("table", "plan", "task=listops", "attention=full", "seed=0").proposal is None


def test_a_cell_that_needs_all_memory_runs_alone(machine, monkeypatch, result_of):
    measured_as(monkeypatch, peak_memory_bytes=9 * GIB)
    proposal = result_of(*PLAN).proposal
    assert (proposal.at_once, proposal.command) == (1, None)


def test_steps_that_take_long_are_not_timed_several_at_a_time(machine, monkeypatch, result_of):
    monkeypatch.setattr(
        processes_at_once, "steps_per_second", lambda words, number: pytest.fail("it would take minutes")
    )
    monkeypatch.setattr(
        "lra.tables.grid.plan.measure_each", lambda cfgs: (make_estimate(step_seconds=600) for _ in cfgs)
    )
    made = result_of(*PLAN, "workers=2")
    assert (made.count_missing, made.count_unknown) == (6, 0)
    assert (made.proposal.at_once, made.proposal.rates, made.proposal.problem) == (None, {}, None)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_two_processes_train_at_the_same_time(home):
    words = ("size=tiny", "model.num_layers=1", "attention=full")
    assert processes_at_once.steps_per_second(words, 2) > 0
    with pytest.raises(UserError, match="nystorm"):
        processes_at_once.steps_per_second(("attention=nystorm",), 1)
