"""The memory of a record is that of training and testing this run: no more, and no less."""

import json
from typing import Any

import numpy as np
import pytest

from lra.base.processes import CLEAR, peak_resident_bytes
from lra.cli import main
from lra.training.loop_settings import LoopSettings
from lra.training.resume import ResumePoint
from lra.verbs import train_record

COMMAND = ("train", "size=tiny", "logger=csv", "recipe.steps=2", "recipe.eval_every=2", "trainer.threads=1")


def recorded(home) -> dict[str, Any]:
    (path,) = home.rglob("result.json")
    return json.loads(path.read_text())["cost"]


@pytest.mark.slow
def test_what_measuring_the_error_needs_does_not_count(home, monkeypatch):
    before = []

    def measure(*_):
        before.append(peak_resident_bytes())
        assert np.ones(40 << 20).sum() > 0  # 320 MiB
        assert peak_resident_bytes() > before[0]

    monkeypatch.setattr(train_record, "measure_approximation", measure)
    assert main([*COMMAND, "attention=nystrom"]) == 0
    assert 0 < recorded(home)["peak_memory_bytes"] <= before[0]


@pytest.mark.skipif(not CLEAR.exists(), reason="the system keeps the largest memory of a process")
@pytest.mark.slow
def test_earlier_runs_of_the_process_do_not_count(home):
    assert np.ones(100 << 20).sum() > 0  # 800 MiB, given back
    earlier = peak_resident_bytes()
    assert main([*COMMAND, "attention=none"]) == 0
    assert recorded(home)["peak_memory_bytes"] < earlier


def test_the_memory_of_training_is_kept_until_the_test(tmp_path):
    loop = LoopSettings(steps=1, eval_every=1, log_every_steps=1, checkpoint_every_seconds=1)
    point = ResumePoint(tmp_path, loop, best=None)
    saved = {"train_seconds": 1.0, "random": [None], "dev_passes": {"step": [], "accuracy": []}}
    point.load_state_dict({**saved, "peak_memory_bytes": 1 << 50})
    assert point.state_dict()["peak_memory_bytes"] == 1 << 50
