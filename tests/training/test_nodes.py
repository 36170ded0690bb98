"""One model on several nodes: which process is which, what each has, and the same numbers as one process has."""

import json
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest
import torch

from lra import from_config
from lra.settings.compose import load_config
from lra.settings.which_run import config_hash, hashed_settings
from lra.training.curves import read_curves
from lra.training.machine import Machine
from lra.training.ranks import LAUNCHED, SRUN, check_launch, local_rank, rank
from lra.training.trainer import FIRST_PORT, PORTS, LaunchedProcess, make_trainer
from lra.types import UserError
from tests.conftest import lra, outer_environment

TORCHRUN = {  # the second process of the second node
    "RANK": "3", "LOCAL_RANK": "1", "WORLD_SIZE": "4", "LOCAL_WORLD_SIZE": "2", "GROUP_RANK": "1",
    "MASTER_ADDR": "10.0.0.7", "MASTER_PORT": "29500",
}  # fmt: skip
STEP = {
    "SLURM_PROCID": "3", "SLURM_STEP_NUM_TASKS": "4", "SLURM_STEP_NUM_NODES": "2", "SLURM_LOCALID": "1",
    "SLURM_NODEID": "1", "SLURM_STEP_NODELIST": "gpu[07-08]", "SLURM_JOB_ID": "4123456", "SLURM_STEP_ID": "2",
}  # fmt: skip


@pytest.fixture
def started_by(monkeypatch):
    """Set the variables of a launcher, and no others."""

    def start(variables):
        for name in (*LAUNCHED, *SRUN, *TORCHRUN, *STEP, "SLURM_NODELIST"):
            monkeypatch.delenv(name, raising=False)
        for name, value in variables.items():
            monkeypatch.setenv(name, value)

    return start


@pytest.mark.parametrize("variables, address", [(TORCHRUN, ("10.0.0.7", 29500)), (STEP, ("gpu07", 18458))])
def test_lightning_learns_the_ranks_and_the_first_machine(variables, address, started_by):
    started_by(variables)
    assert (rank(4), local_rank(4)) == (3, 1)
    place = LaunchedProcess(4)
    assert (place.global_rank(), place.local_rank(), place.node_rank(), place.world_size()) == (3, 1, 1, 4)
    assert (place.main_address, place.main_port) == address
    place.teardown()
    assert rank(4) == 3, "the test after the training asks again"


@pytest.mark.parametrize("variables", [TORCHRUN, STEP])
def test_processes_on_other_nodes_than_typed_are_refused(variables, started_by):
    started_by(variables)
    check_launch(devices=2, num_nodes=2)
    for devices, num_nodes in ((4, 1), (1, 4)):
        with pytest.raises(UserError) as caught:
            check_launch(devices=devices, num_nodes=num_nodes)
        assert (caught.value.key, caught.value.right) == ("trainer.num_nodes", "trainer.devices=2 trainer.num_nodes=2")


def test_torchrun_with_another_number_of_processes_is_refused(started_by):
    started_by(TORCHRUN)
    with pytest.raises(UserError) as caught:
        rank(8)
    assert (caught.value.value, caught.value.right) == (8, "trainer.devices=2 trainer.num_nodes=2")


def test_several_nodes_need_a_launcher(home, refused, started_by):
    started_by({})
    error = refused("train", "size=tiny", "logger=csv", "trainer=ddp", "trainer.num_nodes=2")
    assert (error.kind, error.key, error.value) == ("not_launched", "trainer.num_nodes", 2)


@pytest.mark.parametrize("visible, variables, index", [(4, TORCHRUN, 1), (2, STEP, 1), (1, TORCHRUN, 0), (1, STEP, 0)])
def test_a_process_uses_the_gpu_of_its_local_rank_or_the_only_one_it_sees(
    visible, variables, index, started_by, monkeypatch
):
    """`srun --gpus-per-task=1` shows each process its own GPU alone."""
    started_by(variables)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: visible)
    machine = Machine(accelerator="gpu", devices=2, num_nodes=2)
    trainer = make_trainer(machine, logger=False)
    trainer.strategy.set_world_ranks()
    assert trainer.strategy.root_device == torch.device("cuda", index)
    assert (trainer.world_size, trainer.global_rank, trainer.local_rank) == (4, 3, 1)


def test_nodes_are_hashed_where_there_are_several():
    one, typed, two = (load_config("train", ["trainer=ddp", *more]) for more in MORE)
    older = one.plain("trainer")
    del older["num_nodes"]  # as in an older run's stored configuration
    one = one.with_group("trainer", older)
    assert config_hash(one) == config_hash(typed)
    assert config_hash(two) != config_hash(one)
    assert hashed_settings(two)["trainer"]["num_nodes"] == 2
    assert two.num_processes == 4
    assert two.on_one_device().num_processes == 1


MORE = ([], ["trainer.num_nodes=1"], ["trainer.num_nodes=2"])


@pytest.mark.parametrize("devices, num_nodes, right", [(2, 3, "trainer.num_nodes=1"), (6, 2, "trainer.devices=2")])
def test_devices_of_all_nodes_divide_the_batch(devices, num_nodes, right, data_dir, home):
    words = ["size=tiny", "trainer=ddp", f"trainer.devices={devices}", f"trainer.num_nodes={num_nodes}"]
    with pytest.raises(UserError) as caught:
        from_config.build_datamodule(load_config("train", words))  # batches of 8
    assert (caught.value.key, caught.value.value, caught.value.right) == ("trainer.devices", devices * num_nodes, right)


RUN = (
    "train", "size=tiny", "recipe.steps=6", "recipe.eval_every=3", "protocol=clean", "callbacks.log_every_steps=1",
    "logger=csv", "model.num_layers=1",
)  # fmt: skip
NODES = 2


def on_two_nodes(data_dir, runs, *words, devices):
    """Run the command by torchrun as on two nodes, which are this machine twice; gives the output of each."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    started = [
        subprocess.Popen(
            [
                *(sys.executable, "-m", "torch.distributed.run", f"--nnodes={NODES}", f"--nproc-per-node={devices}"),
                *(f"--node-rank={node}", "--master-addr=127.0.0.1", f"--master-port={port}", "-m", "lra", *RUN),
                *("trainer=ddp", f"trainer.devices={devices}", f"trainer.num_nodes={NODES}", *words),
            ],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=runs.parent,
            env={
                **outer_environment(), "LRA_DATA_DIR": str(data_dir), "LRA_RUNS_DIR": str(runs), "OMP_NUM_THREADS": "1",
            },
        )
        for node in range(NODES)
    ]  # fmt: skip
    said = [process.communicate(timeout=300)[0] for process in started]
    assert [process.returncode for process in started] == [0, 0], said
    return said


def curves_of(runs):
    (path,) = runs.rglob("metrics.csv")
    return read_curves(path)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_two_nodes_of_two_processes_have_the_losses_of_one(data_dir, tmp_path):
    done = lra(*RUN, "model.dropout=0", data=data_dir, runs=tmp_path / "one", OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    said = on_two_nodes(data_dir, tmp_path / "four", "model.dropout=0", devices=2)
    assert [text.count("test accuracy") for text in said] == [1, 0], "the first process of all speaks and writes"
    one, four = curves_of(tmp_path / "one"), curves_of(tmp_path / "four")
    assert [row["step"] for row in one] == [row["step"] for row in four]
    for mine, other in zip(one, four, strict=True):
        for key in ("train/loss", "dev/loss", "test/loss", "train/accuracy", "dev/accuracy", "test/accuracy"):
            assert other.get(key) == pytest.approx(mine.get(key), abs=2e-6), (mine["step"], key)
    one, four = (json.loads(next((tmp_path / name).rglob("result.json")).read_text()) for name in ("one", "four"))
    assert one["outcome"]["test_correct"] == four["outcome"]["test_correct"], "in the split's order"
    assert four["cost"]["device"].startswith("4 x cpu")
    assert (four["settings"]["trainer"]["devices"], four["settings"]["trainer"]["num_nodes"]) == (2, 2)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_stopped_run_of_two_nodes_goes_on_to_the_same_numbers(data_dir, tmp_path):
    """With dropout: each process takes up its own random states."""
    on_two_nodes(data_dir, tmp_path / "whole", devices=1)
    on_two_nodes(data_dir, tmp_path / "parts", "trainer.max_steps=4", devices=1)
    on_two_nodes(data_dir, tmp_path / "parts", devices=1)
    whole, parts = curves_of(tmp_path / "whole"), curves_of(tmp_path / "parts")
    assert [row.get("train/loss") for row in whole] == [row.get("train/loss") for row in parts]


@pytest.mark.slow
@pytest.mark.exhaustive
def test_tasks_of_srun_find_each_other_by_its_variables(data_dir, tmp_path):
    """Two nodes with a task each, which are this machine twice."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        job = (free.getsockname()[1] - FIRST_PORT) % PORTS
    step = {"SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NUM_NODES": "2", "SLURM_NTASKS": "2", "SLURM_LOCALID": "0"}
    step |= {"SLURM_STEP_NODELIST": "127.0.0.1", "SLURM_JOB_ID": str(job), "SLURM_STEP_ID": "0"}
    words = (*RUN, "trainer=ddp", "trainer.devices=1", f"trainer.num_nodes={NODES}")
    with ThreadPoolExecutor() as pool:
        started = [
            pool.submit(
                lra, *words, data=data_dir, runs=tmp_path / "runs", OMP_NUM_THREADS="1",
                SLURM_PROCID=str(node), SLURM_NODEID=str(node), **step,
            )
            for node in range(NODES)
        ]  # fmt: skip
    assert [task.result().returncode for task in started] == [0, 0], [task.result().stderr for task in started]
    assert [task.result().stdout.count("test accuracy") for task in started] == [1, 0]
    assert len(list((tmp_path / "runs").rglob("result.json"))) == 1
