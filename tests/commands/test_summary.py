"""What a run is said to be worth: compared with the paper only when it may be."""

import io

import pytest
from rich.console import Console

from lra.run import Run
from lra.verbs.train_summary import print_curve, verdict
from tests.tables.records import PAPER_STEPS, make_record, with_setting
from tests.test_conf import STEPS


def record(dev_split=None, **changes):
    made = make_record(**{"accuracy": 0.40, **changes})
    return made if dev_split is None else with_setting(made, "task.dev_split", dev_split)


@pytest.mark.parametrize(
    "changes, line",
    [
        ({"accuracy": 0.38}, "Against the paper +0.85 points, within the ±2-point tolerance."),
        ({"accuracy": 0.40}, "Against the paper +2.85 points, outside the ±2-point tolerance."),
        ({"accuracy": 0.16}, "It is 1.0 points below the majority-class baseline (17.00 %)."),
        ({"accuracy": 0.20}, "3.0 points above the majority-class baseline (17.00 %)"),
        ({"accuracy": 0.17}, "It is as accurate as the majority-class baseline (17.00 %)."),
        ({"accuracy": 0.1705}, "0.1 points above the majority-class baseline (17.00 %)"),
        ({"steps": 300}, "Not the paper's settings, so not comparable with its accuracy: recipe.steps=300 for 5000."),
        ({"origin": "stand-in"}, "not those of listops: no result of that task"),
        ({"size": "tiny"}, "This is size=tiny, NOT the benchmark"),
        ({"size": "tiny"}, "The full run: lra train task=listops attention=nystrom"),
        (
            {"size": "short"},
            "about 270 minutes: lra compare run task=listops size=short attention=nystrom,full,linformer",
        ),
        ({"size": "short", "protocol": "s4"}, "lra compare run task=listops protocol=s4 size=short attention="),
        ({"dev_split": "test"}, "on the test split"),
    ],
)
def test_the_verdict(changes, line):
    assert line in verdict(record(**changes))
    if set(changes) - {"accuracy", "dev_split"}:
        assert "Against the paper" not in verdict(record(**changes))


@pytest.mark.parametrize("passes, lines", [(2, 0), (3, 3), (10, 10), (100, 10)])
def test_the_curve_has_a_bar_for_each_dev_pass_but_no_more_than_fit(passes, lines, tmp_path):
    rows = [f"{step},{step / 1000}" for step in range(1, passes + 1)]
    (tmp_path / "metrics.csv").write_text("\n".join(["step,dev/accuracy", *rows]) + "\n")
    console = Console(width=60, file=io.StringIO())
    print_curve(console, Run(tmp_path))
    shown = console.file.getvalue().splitlines()
    assert len(shown) == lines
    if lines:
        steps = [int(line.split()[3]) for line in shown]
        assert (steps[0], steps[-1]) == (1, passes)
        assert [line.count("█") for line in shown] == pytest.approx([30 * step / passes for step in steps], abs=1)


def test_the_papers_steps_are_those_of_its_recipes():
    assert {task: steps for task, (_, _, steps, _) in STEPS.items()} == PAPER_STEPS
