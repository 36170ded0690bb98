"""A `metrics.csv` that loses rows between a stop and the resume: the record has every dev pass."""

import json

import pytest

from lra.cli import main
from lra.training.curves import read_curves
from lra.training.loggers import CurveLogger

TRAIN = (
    *("train", "size=tiny", "recipe.steps=6", "recipe.eval_every=2", "callbacks.log_every_steps=1", "logger=csv"),
    *("attention=none", "trainer.threads=1"),
)


def finished(home):
    (path,) = home.rglob("result.json")
    return json.loads(path.read_text())["outcome"], read_curves(path.with_name("metrics.csv"))


def dev(rows):
    return {int(row["step"]): row["dev/accuracy"] for row in rows if "dev/accuracy" in row}


@pytest.mark.slow
@pytest.mark.parametrize("left", [None, "", "header", "first pass"])
def test_the_record_and_the_file_have_every_dev_pass(home, capsys, monkeypatch, left):
    assert main([*TRAIN, "run_group=whole"]) == 0
    (whole, rows) = finished(home / "whole")
    assert whole["dev_curve"]["step"] == [2, 4, 6]
    assert dict(zip(*whole["dev_curve"].values(), strict=True)) == dev(rows)
    assert main([*TRAIN, "trainer.max_steps=5"]) == 0
    (path,) = (home / "default").rglob("metrics.csv")
    lines = path.read_text().splitlines(keepends=True)
    passes = [number for number, line in enumerate(lines) if line.startswith("2,")]
    kept = {None: None, "": [], "header": lines[:1], "first pass": lines[: passes[-1] + 1]}[left]
    path.unlink() if kept is None else path.write_text("".join(kept))
    capsys.readouterr()
    assert main(TRAIN) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert ("had lost the dev passes at step " + ("4;" if left == "first pass" else "2, 4;")) in said
    outcome, rows = finished(home / "default")
    assert outcome["dev_curve"] == whole["dev_curve"]
    assert outcome["test_correct"] == whole["test_correct"]
    assert dev(rows) == dict(zip(*whole["dev_curve"].values(), strict=True))
    assert [row["step"] for row in rows[:-1]] == sorted(row["step"] for row in rows[:-1])


def test_what_is_there_stays_as_it_is(tmp_path):
    path = tmp_path / "metrics.csv"
    logger = CurveLogger(path, resume_step=0)
    for step in (2, 4, 6):
        logger.log_metrics({"dev/accuracy": step / 10, "dev/loss": 1.0}, step)
    before = path.read_text()
    assert CurveLogger(path, resume_step=6, passes={2: 0.2, 4: 0.4, 6: 0.6}).restored_steps == []
    assert path.read_text() == before
    assert CurveLogger(path, resume_step=4, passes={2: 0.2, 4: 0.4}).restored_steps == []
    assert dev(read_curves(path)) == {2: 0.2, 4: 0.4}
