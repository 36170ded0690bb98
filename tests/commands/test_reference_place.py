"""Where a run is among published runs of its settings: while it trains, afterwards, in lists, the report and W&B."""

import json

import pytest

from lra.cli import main
from tests.training.offline_run import offline_runs

RUN = ["attention=none", "size=tiny", "trainer.threads=1", "recipe.steps=12", "recipe.eval_every=2", "seed=5"]


@pytest.fixture
def published(home, capsys):
    """Three published seeds of one run, which converged at steps 2, 2 and 4, in place of how they did."""
    runs = [*RUN[:-1], "seed=0,1,2"]
    assert main(["train", "-m", *runs, "logger=csv"]) == 0
    folder = home / "published"
    folder.mkdir()
    lines = []
    for place, path in enumerate(sorted(home.rglob("result.json"))):
        record = json.loads(path.read_text())
        outcome = record["outcome"]
        outcome |= {"test_accuracy": 0.9}
        for counted in ("test_correct", "confusion"):
            outcome.pop(counted)
        curve = outcome["dev_curve"]
        curve["accuracy"] = [0.9 if step >= (2, 2, 4)[place] else 0.1 for step in curve["step"]]
        lines.append(json.dumps(record))
    (folder / "three.jsonl").write_text("\n".join(lines) + "\n")
    capsys.readouterr()
    return home


@pytest.mark.slow
def test_a_run_is_placed_everywhere(published, capsys):
    assert main(["train", *RUN, "logger=wandb"]) == 0
    said = capsys.readouterr().out
    assert "2 of 3 reference seeds had converged by step 2; this run has not at 2" in said
    last = "3 of 3 reference seeds had converged by step 4; this run has not at"
    final = f"{last} 12"
    assert [said.count(f"{last} {step}") for step in (4, 6, 12)] == [1, 0, 1], "when it changed, and at the end"
    (logged,) = offline_runs(published)
    assert logged.summary["outcome/place"] == final
    assert main(["show", "runs", "run_group=default"]) == 0
    assert "3 of 3 reference" in " ".join(capsys.readouterr().out.split())
    assert main(["report", "run_group=default", "samples=0"]) == 0
    assert final in (published / "default/report.html").read_text()


@pytest.mark.slow
def test_without_reference_seeds_nothing_is_said(home, capsys):
    assert main(["train", *RUN, "logger=csv"]) == 0
    assert "reference seeds" not in capsys.readouterr().out
