"""The pictures that stand beside a comparison."""

import json

import pytest

from lra.cli import main
from tests.tables.records import make_record


@pytest.mark.slow
@pytest.mark.parametrize("curves", [True, False])
def test_a_comparison_draws_cost_and_the_dev_curves_that_its_records_hold(tmp_path, monkeypatch, capsys, curves):
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path))
    for attention in ("full", "nystrom"):
        for seed in range(2):
            record = make_record(attention=attention, seed=seed)
            if curves:
                record["outcome"]["dev_curve"] = {"step": [50, 100], "accuracy": [0.2, 0.3 + seed / 10]}
                record["outcome"]["dev_examples"] = 2000
            folder = tmp_path / "table" / attention / f"seed{seed}"
            folder.mkdir(parents=True)
            (folder / "result.json").write_text(json.dumps(record))
    assert main(["compare", "show", "notes=all", "run_group=table"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    drawn = {path.name for path in (tmp_path / "table").glob("*.png")}
    assert drawn == {"compare-listops.png"} | ({"curves-listops.png"} if curves else set())
    assert ("full 2 of 2 (step 100, 100); nystrom 2 of 2 (step 100, 100)" in shown) is curves
