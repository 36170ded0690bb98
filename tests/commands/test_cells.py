"""Every task trains with every attention at size=tiny, from its data on, without a network."""

import itertools
import json

import pytest

from lra.base.probes import probe_named
from lra.cli import main
from tests.pairs import each_once
from tests.test_conf import names

WORDS = ("size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv")
GENERATED = {"listops", "pathfinder", "pathx", *filter(probe_named, names("task"))}


@pytest.fixture
def runs(tmp_path, monkeypatch):
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))
    return tmp_path / "runs"


def check(runs, cells):
    """Each cell has its record; each task's data are what they are said to be."""
    records = [json.loads(path.read_text()) for path in runs.rglob("result.json")]
    assert {(r["identity"]["task"], r["identity"]["attention"]) for r in records} == set(cells)
    for record in records:
        origin = "generated" if record["identity"]["task"] in GENERATED else "stand-in"
        assert record["provenance"]["data_origin"] == origin


@pytest.mark.slow
@pytest.mark.exhaustive
def test_every_task_and_every_attention_trains_and_is_tested(runs):
    cells = each_once(names("task"), names("attention"))
    for task, attention in cells:
        assert main(["train", f"task={task}", f"attention={attention}", *WORDS]) == 0
    check(runs, cells)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_every_cell_trains_and_is_tested(runs):
    tasks, attentions = (",".join(names(group)) for group in ("task", "attention"))
    assert main(["train", "-m", f"task={tasks}", f"attention={attentions}", *WORDS]) == 0
    check(runs, itertools.product(names("task"), names("attention")))
