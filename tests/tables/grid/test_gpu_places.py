"""Workers are spread over the visible GPUs: what each of them sees, and what is refused. No GPU is needed."""

import json
import os
import sys
from typing import ClassVar

import pytest
import torch
from rich.console import Console

from lra.base.devices import VISIBLE, visible_devices
from lra.base.openmp import THREADS
from lra.cli import main
from lra.settings.compose import load_config
from lra.tables.grid import processes_at_once, runner, workers
from lra.training.machine import Machine
from tests.conftest import ROOT
from tests.tables.grid.stand_in import make_cells
from tests.tables.grid.test_estimate import make_estimate

TINY = ("size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv", "trainer.threads=1")
ON_GPU = ("trainer=gpu", "trainer.fused_optimizer=false", "trainer.data_on_device=false")
CELLS = ("table", "run", "task=listops", "attention=nystrom,full", "seed=0,1", *TINY)


class Started:
    """In place of a worker that ends at once."""

    environments: ClassVar[list[dict[str, str]]] = []

    def __init__(self, command, env=None, **_):
        self.environments.append(dict(env or {}))
        self.code = 0

    def join(self, seconds):
        return True


@pytest.fixture
def started(home, monkeypatch):
    """The environments that are added to those of the workers which `lra table run` starts."""
    monkeypatch.setattr(Started, "environments", [])
    monkeypatch.setattr("lra.tables.grid.workers.Child", Started)
    return Started.environments


@pytest.mark.parametrize(
    "variable, names",
    [
        ("0,1,2,3", ["0", "1", "2", "3"]),
        ("5, 2", ["5", "2"]),
        ("GPU-8932f937,MIG-GPU-c6d4f1ef/7/0", ["GPU-8932f937", "MIG-GPU-c6d4f1ef/7/0"]),
        ("1,-1,2", ["1"]),
        ("", []),
        ("3,3", ["3"]),
    ],
)
def test_the_visible_gpus_are_those_of_the_variable(variable, names, monkeypatch):
    monkeypatch.setenv(VISIBLE, variable)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: pytest.fail("torch is not asked"))
    assert visible_devices() == names


def test_without_the_variable_they_are_all_that_torch_sees(monkeypatch):
    monkeypatch.delenv(VISIBLE)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 3)
    assert visible_devices() == ["0", "1", "2"]


@pytest.mark.some_fast(2)
@pytest.mark.parametrize(
    "visible, more, places",
    [
        ("0,1,2,3", ["workers=4"], ["0", "1", "2", "3"]),
        ("7,GPU-89", ["workers=2"], ["7", "GPU-89"]),
        ("0,1", ["workers=4", "workers_per_device=2"], ["0", "1", "0", "1"]),
        ("0,1", ["workers=3", "workers_per_device=2"], ["0", "1", "0"]),
        ("0", ["workers=2", "workers_per_device=2"], ["0", "0"]),
        ("0,1,2,3,4", ["workers=2", "trainer.devices=2"], ["0,1", "2,3"]),
    ],
)
def test_each_worker_sees_the_gpus_of_its_place(visible, more, places, started, monkeypatch):
    monkeypatch.setenv(VISIBLE, visible)
    main([*CELLS, *ON_GPU, *more])
    assert [each[VISIBLE] for each in started] == places


def test_on_a_cpu_workers_share_the_cores_and_no_gpu_is_given_away(started, monkeypatch):
    monkeypatch.setenv(VISIBLE, "0,1")
    monkeypatch.setattr("lra.base.openmp.cores", lambda: 8)
    monkeypatch.delenv(THREADS, raising=False)
    main([*CELLS, "workers=3"])
    assert [each[THREADS] for each in started] == ["2"] * 3
    assert not any(VISIBLE in each for each in started)


@pytest.mark.parametrize(
    "visible, more, key, right",
    [
        ("0,1", ["workers=4"], "workers", 2),
        ("0,1", ["workers=5", "workers_per_device=2"], "workers", 4),
        ("0,1,2", ["workers=2", "trainer.devices=2"], "workers", 1),
        ("0", ["workers=2", "trainer.devices=2"], "trainer.devices", 1),
    ],
)
def test_more_workers_than_places_are_refused(visible, more, key, right, home, refused, monkeypatch):
    monkeypatch.setenv(VISIBLE, visible)
    error = refused(*CELLS, *ON_GPU, *more)
    assert (error.kind, error.key, error.right) == ("wrong_value", key, right)


@pytest.mark.parametrize("more", [["workers=1"], ["workers=4"], ["workers=2", "hydra/launcher=joblib"]])
def test_without_a_gpu_no_cell_is_tried(more, home, refused, monkeypatch):
    monkeypatch.setenv(VISIBLE, "")
    assert refused(*CELLS, *ON_GPU, *more).kind == "no_gpu"
    assert not list(home.rglob("failed.json"))


@pytest.mark.parametrize(
    "more",
    [
        ["workers=2"],
        [*ON_GPU, "workers=1"],
        [*ON_GPU, "workers=2", "hydra/launcher=submitit_slurm"],
    ],
)
def test_several_workers_on_a_gpu_that_would_change_nothing_are_refused(more, home, refused, monkeypatch):
    monkeypatch.setenv(VISIBLE, "0,1")
    error = refused(*CELLS, *more, "workers_per_device=2")
    assert (error.kind, error.key) == ("no_effect", "workers_per_device")


@pytest.mark.parametrize("launcher, places", [("joblib", ["1", "3"]), ("submitit_local", ["1", "3"])])
def test_jobs_of_a_launcher_on_this_machine_are_spread_too(launcher, places, home, monkeypatch):
    typed = []
    monkeypatch.setenv(VISIBLE, "1,3")
    monkeypatch.setattr("hydra.main", lambda **_: lambda task: lambda: typed.extend(sys.argv))
    main([*CELLS, *ON_GPU, "workers=2", f"hydra/launcher={launcher}"])
    (words,) = (word for word in typed if word.startswith("places="))
    seen = []
    monkeypatch.setattr(workers, "run_cells", lambda *_: seen.append(os.environ[VISIBLE]))
    for worker in range(2):
        workers.work(load_config("worker", [words, "of=table", f"worker={worker}"]))
    assert seen == places


def test_a_job_of_slurm_uses_what_it_sees(home, monkeypatch):
    typed = []
    monkeypatch.setenv(VISIBLE, "")  # of the machine that submits
    monkeypatch.setattr("hydra.main", lambda **_: lambda task: lambda: typed.extend(sys.argv))
    main([*CELLS, *ON_GPU, "workers=2", "hydra/launcher=submitit_slurm", "hydra.launcher.gpus_per_node=1"])
    assert "places=[]" in typed
    seen = []
    monkeypatch.setenv(VISIBLE, "6")
    monkeypatch.setattr(workers, "run_cells", lambda *_: seen.append(os.environ[VISIBLE]))
    workers.work(load_config("worker", ["of=table", "worker=1"]))
    assert seen == ["6"]


def test_a_worker_that_sees_no_gpu_fails_no_cell(home, monkeypatch, capsys):
    monkeypatch.setenv(VISIBLE, "9")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    words = ["task=listops", "attention=full", "seed=0", *TINY, *ON_GPU]
    monkeypatch.setenv("TTY_COMPATIBLE", "0")  # as the worker sets it in its process; it goes after the test
    assert workers.main(["paper_table", *words]) == 2
    assert "CUDA" in capsys.readouterr().err
    assert not list(home.rglob("failed.json"))


def test_what_a_worker_starts_sees_its_gpu_alone(tmp_path, monkeypatch):
    monkeypatch.setenv(VISIBLE, "2")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(runner, "PROGRAM", "tests.tables.grid.stand_in:note_gpu")
    monkeypatch.setattr(runner, "IMPORTS", ())
    runner.run_missing(make_cells(tmp_path, "a"), Console())
    assert (tmp_path / "seen").read_text() == "2"


@pytest.mark.slow
@pytest.mark.parametrize("visible, gpus", [("3", ["3"]), ("MIG-8f,1", ["MIG-8f"])])
def test_line_and_record_of_a_run_name_its_gpu(visible, gpus, home, monkeypatch, capsys):
    """The CPU stands for the GPU."""
    monkeypatch.setenv(VISIBLE, visible)
    cpu = Machine(accelerator="cpu", threads=1)
    monkeypatch.setattr("lra.from_config.machine_and_loggers.build_machine", lambda cfg: cpu)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "A GPU")
    assert main(["train", *TINY, *ON_GPU]) == 0
    assert f"on gpu {gpus[0]}\n" in capsys.readouterr().out
    (record,) = home.rglob("result.json")
    cost = json.loads(record.read_text())["cost"]
    assert (cost["device"], cost["gpus"]) == ("A GPU", gpus)


def test_the_plan_says_how_many_fit_on_a_gpu_and_fills_all_of_them(home, monkeypatch, capsys):
    monkeypatch.setenv(VISIBLE, "0,1,2")
    monkeypatch.setattr(processes_at_once, "free_bytes", lambda device: 8 * 2**30)
    estimate = make_estimate(step_seconds=0.5)
    monkeypatch.setattr("lra.tables.grid.plan.measure_each", lambda cfgs: (estimate for _ in cfgs))
    monkeypatch.setattr("lra.tables.grid.plan.device_name", lambda cfg: "A GPU")
    rates = {1: 10.0, 2: 18.0, 3: 17.0, 4: 15.0}
    monkeypatch.setattr(processes_at_once, "steps_per_second", lambda words, number: rates[number])
    assert main(["table", "plan", "task=listops", "attention=full", "trainer=gpu", "workers_per_device=3"]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "4 fit on a GPU, 1.5 GiB each of 8.0 GiB that are free" in said
    assert "1: 10.0, 2: 18.0, 3: 17.0, 4: 15.0; 1.80 times one alone" in said
    assert {"workers=6", "workers_per_device=2"} <= set(said.rpartition("lra table run ")[2].split())
