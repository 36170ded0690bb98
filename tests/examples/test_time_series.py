"""The time series of docs/examples: its simple forecasts are those on record, and a short training runs.

The code on the page runs too.
"""

import json
import re
import runpy
from typing import Any

import pytest
import torch

from tests.conftest import ROOT

SCRIPT = str(ROOT / "docs/examples/time_series.py")
RECORDS = [json.loads(line) for line in (ROOT / "runs/published/time_series.jsonl").read_text().splitlines()]
PAGE = (ROOT / "docs/sequences.md").read_text()


@pytest.fixture(scope="module")
def script():
    return runpy.run_path(SCRIPT)


def of(what: str, key: str) -> list[float]:
    return [record[key] for record in RECORDS if record["what"] == f"forecast {what}"]


@pytest.mark.slow
def test_a_short_training_runs_and_is_written_down(script, tmp_path, capsys):
    script["main"](steps=4, to=tmp_path / "errors.jsonl")
    lines = [json.loads(line) for line in (tmp_path / "errors.jsonl").read_text().splitlines()]
    printed = capsys.readouterr().out.splitlines()
    assert [line["what"] for line in lines] == ["forecast next", "forecast irregular"]
    for line, said in zip(lines, printed, strict=True):
        assert said.startswith(f"seed 0, {line['what']}: persistence {line['persistence']}, linear {line['linear']}, ")
        recorded = of(line["what"].removeprefix("forecast "), "persistence")[0], of("next", "parameters")[0]
        assert (line["persistence"], line["parameters"]) == recorded
        assert line["linear"] < line["persistence"]


@pytest.mark.parametrize("span", ["next", "irregular"])
def test_the_simple_forecasts_are_those_on_record(script, span):
    samples = script["recording"]()
    x, y = script["windows"](samples, "train")
    x_test, y_test = script["windows"](samples, span)
    assert len(x) == len(y) == 4000 - 60 - 10 + 1
    assert y[0] == samples[1500 + 60 + 10 - 1]
    assert x[0].equal(samples[1500:1560])
    linear = script["error"](script["linear_forecast"](x, y, x_test), y_test)
    assert linear == pytest.approx(of(span, "linear")[0], abs=2e-3)
    assert script["error"](x_test[:, -1], y_test) == pytest.approx(of(span, "persistence")[0], abs=2e-4)
    assert script["error"](torch.full_like(y_test, y_test.mean().item()), y_test) == pytest.approx(1, abs=2e-3)


@pytest.mark.slow
def test_the_code_on_the_page_runs():
    names: dict[str, Any] = {}
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    for block in blocks:
        exec(block, names)
    assert len(blocks) == 2
    assert names["vectors"].shape == (8, names["encoder"].output_size()) == (8, 256)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_whole_training_comes_near_its_record(script):
    (of_next, _) = script["errors"](steps=300, seed=0)
    assert of_next["encoder"] < 0.75 * of_next["linear"]
