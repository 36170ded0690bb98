"""What a run is said to be worth: compared with the paper only when it may be."""

from __future__ import annotations

import pytest

from lra.commands.summary import verdict
from lra.results.reference import PAPER_STEPS
from tests.test_conf import STEPS


def record(accuracy=0.40, steps=5000, origin="generated", size="full", dev_split="own"):
    return {
        "identity": {"task": "listops", "attention": "nystrom", "size": size, "dev_split": dev_split},
        "outcome": {"test_accuracy": accuracy, "majority_rate": 0.17, "test_examples": 2000, "steps": steps},
        "provenance": {"data_origin": origin},
    }


@pytest.mark.parametrize(
    "changes, line",
    [
        ({"accuracy": 0.38}, "Against the paper +0.85 points, inside the band of ±2."),
        ({"accuracy": 0.40}, "Against the paper +2.85 points, outside the band of ±2."),
        ({"accuracy": 0.16}, "does not beat the majority class: -1.0 points"),
        ({"accuracy": 0.20}, "beats the majority class by 3.0 points (one standard error of this test: 0.9 points)"),
        ({"steps": 300}, "300 steps are not the paper's 5,000: not comparable"),
        ({"origin": "stand-in"}, "only stand in for listops"),
        ({"size": "tiny"}, "This is size=tiny, not the benchmark"),
        ({"dev_split": "test"}, "chosen on the test split"),
    ],
)
def test_the_verdict(changes, line):
    assert line in verdict(record(**changes))
    if set(changes) - {"accuracy", "dev_split"}:
        assert "Against the paper" not in verdict(record(**changes))


def test_the_papers_steps_are_those_of_its_recipes():
    assert {task: steps for task, (_, _, steps, _) in STEPS.items()} == PAPER_STEPS
