"""lra examine: one page of what an attention costs, can do and reaches, from commands that a user could type."""

import re
import signal

import pytest

from lra.base.overrides import Overrides
from lra.base.signals import Stopped
from lra.cli import main
from lra.settings.check_overrides import check_overrides
from lra.tables.verbs.examine import DEFAULTS, make_steps
from tests.disturbance import disturbed
from tests.disturbance import steps as steps_of

SMALL = ("size=tiny", "task=listops", "probes=recall", "seed=0", "budget=1", "n=64", "recipe.steps=2", "logger=csv")


def steps(*methods: str, **values: str):
    return make_steps(
        Overrides(methods), Overrides(["protocol=clean"]), {**DEFAULTS, "run_group": "examine-mine", **values}
    )


def test_exact_attention_is_beside_every_method_once():
    for methods in (
        ["attention=nystrom"],
        ["attention=full,nystrom"],
        ["mixer=s4d"],
        ["attention=nystrom", "mixer=s4d"],
    ):
        for step in [step for step in steps(*methods) if step.shown[0] != "check"]:
            (attentions,) = [word for word in step.shown if word.startswith("attention=")]
            assert attentions.split("=")[1].split(",").count("full") == 1
            assert ("mixer=s4d" in step.shown) is ("mixer=s4d" in methods)


def test_each_task_is_compared_and_each_method_checked():
    made = steps("attention=nystrom,linformer", task="listops,text")
    assert [step.shown[:2] for step in made] == [
        ("check", "attention=nystrom"),
        ("check", "attention=linformer"),
        ("bench", "attention"),
        ("table", "show"),
        ("compare", "show"),
        ("compare", "show"),
    ]
    assert [step.work[2] for step in made[-2:]] == ["task=listops", "task=text"]


def test_the_trainings_are_commands_that_lra_takes():
    for step in steps("attention=nystrom", workers="2", budget="1")[2:]:
        for words in (step.work, step.planned, step.shown):
            own = ("sweep=", "workers=", "budget=", "format=")
            check_overrides("train", [word for word in words[2:] if not word.startswith(own)], sweep=True)


@pytest.mark.parametrize("typed", [(), ("task=listops",), ("run", "seed=0")])
def test_a_method_must_be_named(refused, typed):
    error = refused("examine", *typed)
    assert (error.kind, error.key) == ("missing_value", "attention")


@pytest.mark.parametrize(
    "typed",
    [
        "attention=nystrum",
        "attention=nystrom attention.landmarkz=3",
        "attention=nystrom attention.num_landmarks=8",
        "attention=full size=x",
    ],
)
def test_mistakes_are_found_before_anything_runs(refused, typed):
    refused("examine", *typed.split())


@pytest.mark.slow
@pytest.mark.exhaustive
def test_the_page_has_every_question_with_its_answer_and_stays_the_same(home):
    assert main(["examine", "attention=nystrom", *SMALL]) == 0
    page = (home / "examine-nystrom/examine.md").read_text()
    contract, cost, probes, task, diagnosis = re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    assert "FAIL" not in contract
    assert contract.count("PASS") > 5
    for section in (cost, probes, task):
        assert {"full", "nystrom"} <= {line.strip("| ").split(" ")[0] for line in section.splitlines()}
    assert "exact" in diagnosis
    trained = {path: path.stat().st_mtime_ns for path in home.rglob("best.ckpt")}
    assert main(["examine", "attention=nystrom", *SMALL]) == 0
    assert {path: path.stat().st_mtime_ns for path in home.rglob("best.ckpt")} == trained
    assert (home / "examine-nystrom/examine.md").read_text() == page


BROKEN = """
from lra.attention.full import FullAttention


class Broken(FullAttention):
    def forward(self, q, k, v, valid):
        return super().forward(q, k, v.flip(0), valid)  # each example gets another's values
"""


@pytest.mark.slow
def test_a_broken_contract_ends_it_before_a_training(home, refused, tmp_path, monkeypatch):
    (tmp_path / "broken.py").write_text(BROKEN)
    (tmp_path / "conf/attention").mkdir(parents=True)
    (tmp_path / "conf/attention/broken.yaml").write_text("defaults: [full]\nname: broken\n_target_: broken.Broken\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("LRA_CONF_PATH", str(tmp_path / "conf"))
    error = refused("examine", "attention=broken", *SMALL)
    assert error.kind == "step_failed"
    assert not home.exists()


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_signal_is_said_once_and_with_what_the_command_has_kept(data_dir, tmp_path):
    runs, words = tmp_path / "runs", [word for word in SMALL if not word.startswith("recipe.steps")]
    slow = ("recipe.steps=2000", "callbacks.checkpoint_every_seconds=0")
    with disturbed("examine", "attention=none", *words, *slow, data=data_dir, runs=runs) as command:
        command.until(lambda: max(steps_of(runs), default=0) > 1, 400)
        assert command.end(signal.SIGTERM) == 128 + signal.SIGTERM
        (line,) = [line for line in command.error().splitlines() if line.startswith("lra: ")]
    said, _, kept = line.removeprefix("lra: ").partition("; ")
    assert said == str(Stopped(signal.SIGTERM))
    assert kept, "how many cells are finished, in the words of lra table"
