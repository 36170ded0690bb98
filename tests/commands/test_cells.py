"""Every task trains with every attention at size=tiny, from its data on, without a network."""

from __future__ import annotations

import json

from lra.cli import main
from tests.test_conf import CELLS, names


def test_every_cell_trains_and_is_tested(tmp_path, monkeypatch):
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))
    tasks, attentions = (",".join(names(group)) for group in ("task", "attention"))
    words = ["size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv"]
    assert main(["train", "-m", f"task={tasks}", f"attention={attentions}", *words]) == 0
    records = [json.loads(path.read_text()) for path in (tmp_path / "runs").rglob("result.json")]
    assert {(r["identity"]["task"], r["identity"]["attention"]) for r in records} == set(CELLS)
    origins = {r["identity"]["task"]: r["provenance"]["data_origin"] for r in records}
    generated = {"listops", "pathfinder", "pathx"}
    assert origins == {task: "generated" if task in generated else "stand-in" for task in names("task")}
