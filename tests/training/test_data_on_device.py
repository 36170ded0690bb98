"""trainer.data_on_device=true: a run's numbers are those of one without it, which it may have been until then."""

import pytest

from lra.cli import main
from lra.data import loader
from tests.training.test_training import curve, same, weights

TINY = ("train", "size=tiny", "attention=none", "logger=csv", "trainer.threads=1", "callbacks.log_every_steps=1")
RUN = (*TINY, "recipe.steps=6", "recipe.eval_every=3")
THERE = "trainer.data_on_device=true"


@pytest.fixture
def copies(monkeypatch):
    """One entry for each copy of a store to a device."""
    seen, copied = [], loader._copied
    monkeypatch.setattr(loader, "_copied", lambda *args, **kwargs: seen.append(1) or copied(*args, **kwargs))
    return seen


@pytest.mark.slow
def test_a_run_may_go_on_with_its_data_elsewhere(home, tmp_path, monkeypatch, copies):
    """Weights, losses and accuracies at the end are those of a run in one go, to the last bit."""
    assert main(RUN) == 0
    parts = tmp_path / "parts"
    monkeypatch.setenv("LRA_RUNS_DIR", str(parts))
    assert main([*RUN, "trainer.max_steps=4"]) == 0
    assert not copies
    assert main([*RUN, THERE]) == 0
    assert len(copies) == 1, "not one more for the test"
    assert same(weights(home), weights(parts))
    columns = ("step", "train/loss", "dev/loss", "test/loss", "test/accuracy")
    assert curve(home, *columns) == curve(parts, *columns)


@pytest.mark.slow
def test_a_run_with_its_data_there_is_tested_again_without_a_copy(home, result_of, copies):
    assert main([*RUN, THERE]) == 0
    (record,) = home.rglob("result.json")
    assert result_of("evaluate", f"run={record.parent}").is_as_recorded
    assert len(copies) == 1, "that of the training"


@pytest.mark.slow
def test_what_does_not_fit_stops_the_run_in_a_line(home, refused, monkeypatch):
    monkeypatch.setattr(loader, "free_device_bytes", lambda device: 2000)
    error = refused(*RUN, THERE)
    assert (error.kind, error.right) == ("no_memory", "trainer.data_on_device=false")
