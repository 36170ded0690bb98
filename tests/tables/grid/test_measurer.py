"""Measuring many cells has a bound in time, and one that fails or takes too long ends alone."""

import os
import signal
import time

import pytest
import torch

from lra.settings.compose import load_config
from lra.tables.grid import measurer
from lra.tables.grid.estimate import Estimate
from lra.tables.grid.measurer import (
    LEAST_SECONDS,
    NO_TIME,
    measure_all_here,
    measure_each,
    measure_in_fork,
    seconds_for_one,
)
from lra.types import UserError
from tests.tables.grid.test_estimate import make_estimate


def measured_in(seconds: float, count: int, takes: float):
    """What comes of so many cells that each take `takes` times their share, by a clock of its own."""
    now = [0.0]

    def measure(cfg, share):
        now[0] += takes * share
        return {"share": share}

    return list(measure_all_here([None] * count, seconds, measure, lambda: now[0])), now[0]


@pytest.mark.parametrize("count", [1, 5, 30, 90, 1000])
@pytest.mark.parametrize("takes", [0.5, 1.0, 3.0])
def test_all_cells_together_take_no_more_than_twice_the_seconds_and_the_last_one(count, takes):
    found, spent = measured_in(45.0, count, takes)
    assert len(found) == count
    assert spent <= 2 * 45 + takes * max(each.get("share", 0) for each in found)
    assert all(each == {"error": NO_TIME} for each in found if "share" not in each)
    assert any("share" in each for each in found)


def test_the_time_that_cells_leave_is_for_those_after_them():
    assert seconds_for_one(30.0, 20) == 1.5
    assert seconds_for_one(30.0, 1000) == seconds_for_one(-5.0, 2) == LEAST_SECONDS
    found, _ = measured_in(45.0, 30, takes=0.1)
    shares = [each["share"] for each in found]
    assert shares == sorted(shares)


def forked(monkeypatch, measure):
    monkeypatch.setattr(measurer, "measure_here", measure)
    return measure_in_fork(None, 0.1, threads=torch.get_num_threads())


def test_a_cell_that_takes_too_long_is_ended_and_says_so(monkeypatch):
    monkeypatch.setattr(measurer, "READY_SECONDS", 0.2)
    begun = time.monotonic()
    found = forked(monkeypatch, lambda cfg, seconds: time.sleep(60))
    assert "more than" in found["error"]
    assert time.monotonic() - begun < 30


def test_a_cell_that_fails_or_is_killed_says_why(monkeypatch):
    def refuse(cfg, seconds):
        raise UserError("no room")

    assert forked(monkeypatch, refuse) == {"error": "no room"}
    found = forked(monkeypatch, lambda cfg, seconds: os.kill(os.getpid(), signal.SIGKILL))
    assert "SIGKILL" in found["error"]
    assert Estimate(**forked(monkeypatch, lambda cfg, seconds: make_estimate())) == make_estimate()


@pytest.mark.slow
def test_cells_are_measured_in_one_process_that_another_starts(home):
    words = ["task=listops", "size=tiny", "model.num_layers=1", "attention=none"]
    broken = load_config("train", words).changed({"recipe.optimizer._target_": "torch.optim.Nothing"})
    first, refused, last = measure_each([load_config("train", words), broken, load_config("train", words)], seconds=20)
    for estimate in (first, last):
        assert isinstance(estimate, Estimate)
        assert estimate.step_seconds > 0
    assert isinstance(refused, UserError)
