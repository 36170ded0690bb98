"""Which process this is: variables are believed when they fit this run, and not when something has left them behind."""

import json

import pytest
from torch import distributed

from lra.training.ranks import LAUNCHED, SRUN, is_launched, leave_process_group, rank
from lra.types import UserError
from tests.conftest import lra

TORCHRUN = {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "29500"}
STEP = {"SLURM_PROCID": "1", "SLURM_STEP_NUM_TASKS": "2"}


@pytest.mark.parametrize(
    ("variables", "devices", "launched"),
    [
        ({}, 2, False),
        ({"RANK": "1"}, 2, False),
        ({"LOCAL_RANK": "1", "WORLD_SIZE": "2"}, 2, False),
        ({**TORCHRUN, "RANK": "one"}, 2, False),
        ({"SLURM_PROCID": "1", "SLURM_NTASKS": "2"}, 2, False),  # of a batch script, whose tasks srun would start
        ({**STEP, "SLURM_STEP_NUM_TASKS": "8"}, 2, False),  # eight runners in one step, each of which starts two
        (TORCHRUN, 1, False),
        (STEP, 1, False),
        (TORCHRUN, 2, True),
        (STEP, 2, True),
        ({**TORCHRUN, "SLURM_PROCID": "0", "SLURM_STEP_NUM_TASKS": "2"}, 2, True),  # ranks of a process in a step
        ({**TORCHRUN, "WORLD_SIZE": "1", "RANK": "0"}, 2, False),
    ],
)
def test_only_variables_that_fit_are_believed(variables, devices, launched, monkeypatch):
    for name in (*LAUNCHED, *SRUN):
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert is_launched(devices) is launched
    assert rank(devices) == int(launched)


def test_torchrun_with_another_number_of_processes_is_refused(monkeypatch):
    for name, value in TORCHRUN.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(UserError) as caught:
        rank(4)
    assert (caught.value.key, caught.value.value, caught.value.right) == ("trainer.devices", 4, "trainer.devices=2")


LEFT = {"RANK": "1", "LOCAL_RANK": "1", "WORLD_SIZE": "2", "SLURM_PROCID": "1", "SLURM_NTASKS": "2"}


@pytest.mark.slow
@pytest.mark.parametrize("names", [["RANK"], list(LEFT)])
def test_what_another_launcher_has_left_behind_changes_nothing(names, data_dir, tmp_path):
    words = ("train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv")
    env = {name: LEFT[name] for name in names}
    done = lra(*words, data=data_dir, runs=tmp_path / "runs", **env)
    assert done.returncode == 0, done.stderr
    assert "test accuracy" in done.stdout
    (lock,) = (tmp_path / "runs").rglob("lock")
    record = json.loads((lock.parent / "result.json").read_text())
    assert record["outcome"]["steps"] == 2
    assert (lock.parent / "metrics.csv").read_text().count("\n") >= 2


def test_a_process_leaves_the_others_once():
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    leave_process_group()
    assert not distributed.is_initialized()
    leave_process_group()


AT_EXIT = """
import atexit, os, pathlib, sys

@atexit.register
def write():
    if "torch.distributed" in sys.modules and "RANK" in os.environ:
        inside = sys.modules["torch.distributed"].is_initialized()
        pathlib.Path(__file__).with_name("rank" + os.environ["RANK"]).write_text(str(inside))
"""


@pytest.mark.slow
@pytest.mark.some_in_ci(1)
@pytest.mark.parametrize("more", [(), ("trainer.max_steps=2",)])
def test_processes_that_train_together_have_left_each_other_before_they_end(more, data_dir, tmp_path):
    """Gloo's threads would else hold tensors while Python shuts down, which has killed a run by SIGABRT."""
    (tmp_path / "sitecustomize.py").write_text(AT_EXIT)
    words = ("train", "size=tiny", "recipe.steps=4", "recipe.eval_every=2", "logger=csv", "trainer=ddp", *more)
    done = lra(*words, data=data_dir, runs=tmp_path / "runs", OMP_NUM_THREADS="1", PYTHONPATH=str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert [(tmp_path / f"rank{number}").read_text() for number in range(2)] == ["False", "False"]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_run_of_two_devices_is_evaluated_on_one(data_dir, tmp_path):
    words = ("train", "size=tiny", "recipe.steps=4", "recipe.eval_every=2", "logger=csv", "trainer=ddp")
    done = lra(*words, data=data_dir, runs=tmp_path / "runs", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    (record,) = (tmp_path / "runs").rglob("result.json")
    done = lra("evaluate", f"run={record.parent}", data=data_dir, runs=tmp_path / "runs", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    assert "trained on 2 devices, tested here on one" in done.stdout
    assert "the same as recorded" in done.stdout
