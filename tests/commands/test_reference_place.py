"""Where a run is among published runs of its settings: while it trains, afterwards, in lists, the report and W&B."""

import json

import pytest

from lra.cli import main
from lra.runs.reference_curves import place_among, place_of, published_curves
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
def test_a_run_is_placed_everywhere(published, capsys, result_of):
    """After steps 2 and 4 two and three of the seeds had converged; this run does not."""
    record = result_of("train", *RUN, "logger=wandb").record
    said, references = capsys.readouterr().out, published_curves(published)
    curve, places = record.outcome["dev_curve"], {}
    for count, step in enumerate(curve["step"], start=1):
        places[step] = place_among({key: values[:count] for key, values in curve.items()}, references)
    assert len(references) == 3
    assert len({place.partition(";")[0] for place in places.values()}) == 2, "it changed once"
    final = place_of(record, references)
    assert final == places[12] != ""
    assert [said.count(places[step]) for step in (2, 4, 6, 12)] == [1, 1, 0, 1], "when it changed, and at the end"
    (logged,) = offline_runs(published)
    assert logged.summary["outcome/place"] == final
    (row,) = result_of("show", "runs", "run_group=default").table.rows[-1:]
    assert any(cell.endswith(final) for cell in row)
    assert main(["report", "run_group=default", "samples=0"]) == 0
    assert final in (published / "default/report.html").read_text()


@pytest.mark.slow
def test_without_reference_seeds_nothing_is_said(home, capsys, result_of):
    made = result_of("train", *RUN, "logger=csv")
    assert place_of(made.record, published_curves(home)) == ""
    assert "reference seeds" not in capsys.readouterr().out
