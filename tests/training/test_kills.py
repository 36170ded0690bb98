"""A run killed at any change of its folder goes on to the same bits: weights, curves, outcome."""

import json
import re
import signal
import subprocess
import sys

import pytest
import torch

from lra.training.curves import read_curves
from tests.conftest import ROOT, outer_environment

KILLED = (-signal.SIGKILL, -signal.SIGXFSZ)  # the second, at a limit within a file
OF_THE_CLOCK = ("steps_per_second", "tokens_per_second", "peak_memory_bytes")
ITS_OWN = ("train_seconds", "peak_memory_bytes", "sha256")  # of a checkpoint, and the hash of a file with these


def plain(value):
    """A checkpoint's content, comparable, without what the clock moves."""
    if isinstance(value, torch.Tensor):
        return value.tolist()
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items() if key not in ITS_OWN}
    return [plain(item) for item in value] if isinstance(value, list | tuple) else value


def curves(path):
    return [{key: value for key, value in row.items() if key not in OF_THE_CLOCK} for row in read_curves(path)]


def left_behind(runs):
    """What a finished run holds, as far as it must be the same."""
    (folder,) = (path.parent for path in runs.rglob("result.json"))
    record = json.loads((folder / "result.json").read_text())
    return {
        "files": sorted(str(path.relative_to(folder)) for path in folder.rglob("*")),
        "outcome": record["outcome"],
        "pretraining": plain(record.get("pretraining")),
        "approximation": record["approximation"],
        "tests": sum("test/accuracy" in row for row in read_curves(folder / "metrics.csv")),
        **{str(path.parent.relative_to(folder)): curves(path) for path in folder.rglob("metrics.csv")},
        **{
            str(path.relative_to(folder)): plain(torch.load(path, weights_only=True)) for path in folder.rglob("*.ckpt")
        },
    }


def check_kills(data_dir, place, moments: str, *words: str) -> list[str]:
    """Runs killed at `moments`, and gone on with, against an undisturbed one; returns their logs."""
    command = [sys.executable, "-m", "tests.training.kills", str(place), moments, *words]
    env = {**outer_environment(), "LRA_DATA_DIR": str(data_dir), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    _, *pairs = map(json.loads, done.stdout.splitlines())
    whole, logs = left_behind(place / "whole"), []
    assert whole["tests"] == 1
    for pair in pairs:
        runs = place / str(pair["moment"])
        log = (runs / "log").read_text()
        logs.append(log)
        assert pair["killed"] in KILLED, (pair, log)
        assert pair["code"] == 0, (pair, log)
        found = left_behind(runs)
        for key, value in whole.items():
            assert found[key] == value, (pair, key, log)
    return logs


@pytest.mark.slow
@pytest.mark.exhaustive
def test_killed_at_some_changes_of_its_folder_a_run_goes_on_to_the_same_bits(data_dir, tmp_path):
    """Half of data.json, of best.ckpt and of result.json are written; this also when errors of matrices are added."""
    moments = [f"within writing {file}" for file in ("data.json", "best.ckpt", "result.json")]
    moments.append("2 within writing result.json")
    logs = check_kills(data_dir, tmp_path, ",".join(moments))
    for file, log in zip(("data.json", "best.ckpt", "result.json", "result.json"), logs, strict=True):
        assert re.search(rf"within writing .*/{file}[.\w]*\n", log), log


@pytest.mark.slow
@pytest.mark.exhaustive
def test_killed_at_every_change_of_its_folder_a_run_goes_on_to_the_same_bits(data_dir, tmp_path):
    assert len(check_kills(data_dir, tmp_path, "all")) > 50


PRETRAINED = ("pretrain=masked", "pretrain.steps=4", "pretrain.eval_every=2")


@pytest.mark.slow
@pytest.mark.exhaustive
def test_killed_in_either_stage_a_pretrained_run_goes_on_to_the_same_bits(data_dir, tmp_path):
    """Also between the stages, where nothing of the second is saved, and with parts of the record there."""
    moments = [f"within writing pretraining/{file}" for file in ("best.ckpt", "last.ckpt", "metrics.csv")]
    moments += [
        "4 within writing pretraining/last.ckpt",
        "before opening seed0/last.ckpt",
        "within writing seed0/best.ckpt",
        "os.remove result.json.unfinished",
        "3 within writing result.json",
    ]
    logs = check_kills(data_dir, tmp_path, ",".join(moments), *PRETRAINED)
    assert len(logs) == len(moments)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_killed_at_every_change_of_its_folder_a_pretrained_run_goes_on_to_the_same_bits(data_dir, tmp_path):
    assert len(check_kills(data_dir, tmp_path, "all", *PRETRAINED)) > 80
