"""A Python file in the current folder never runs, however a process is started."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from lra.base.paths import environment
from lra.base.processes import Child, python_module
from lra.cli import SAFE_PATH, main
from tests.conftest import outer_environment

(VARIABLE,) = SAFE_PATH

LRA = str(Path(sys.executable).with_name("lra"))
RAN = "ran.txt"
HOSTILE = """
import os, sys
with open({place!r}, "a") as file:
    file.write(f"{{__name__}} in {{sys.argv}}\\n")
"""
NAMES = ("lra", "hydra", "hydra_plugins", "torch", "omegaconf", "joblib", "cloudpickle", "submitit", "wandb", "numpy")
STANDARD = ("contextlib", "json", "pickle", "multiprocessing", "typing", "subprocess", "socket", "uuid")
CELLS = ("size=tiny", "task=listops", "attention=none", "recipe.steps=2", "recipe.eval_every=2", "logger=csv")
ONE = (*CELLS, "trainer.threads=1")


@pytest.fixture
def folder(tmp_path, home):
    """A current folder with a Python file for each name that some process imports; what runs writes to RAN."""
    place = tmp_path / "hostile"
    place.mkdir()
    for name in (*NAMES, *STANDARD):
        (place / f"{name}.py").write_text(HOSTILE.format(place=str(tmp_path / RAN)))
    return place


def run(folder, *command, **env):
    """Run a command there, as a shell does whose PYTHONPATH names nothing."""
    environment = {name: value for name, value in outer_environment().items() if name not in ("PYTHONPATH", *SAFE_PATH)}
    done = subprocess.run(
        command, cwd=folder, env={**environment, **env}, capture_output=True, text=True, timeout=1200, check=False
    )
    ran = folder.parent / RAN
    assert not ran.exists(), ran.read_text()
    return done


def records(folder) -> int:
    return len(list((folder.parent / "runs").rglob("result.json")))


def test_a_child_imports_nothing_from_the_current_folder(folder, monkeypatch):
    monkeypatch.chdir(folder)
    with Child(python_module("lra", "--version"), keep_output=True) as child:
        assert child.wait() == 0, child.error()
    assert child.output[0].startswith("lra ")
    assert not (folder.parent / RAN).exists()


def test_nor_does_a_child_that_a_library_starts(folder, monkeypatch):
    monkeypatch.chdir(folder)
    monkeypatch.delenv(VARIABLE, raising=False)
    with environment(SAFE_PATH):
        done = subprocess.run(
            [sys.executable, "-c", "import json; print(json.dumps(1))"], capture_output=True, check=True
        )
        assert done.stdout == b"1\n"
    assert VARIABLE not in os.environ
    assert not (folder.parent / RAN).exists()


def test_every_command_says_so_to_its_children_and_leaves_the_environment_as_it_was(monkeypatch):
    told = []
    monkeypatch.setattr("lra.cli._run", lambda *_: told.append(os.environ.get(VARIABLE)) or 0)
    monkeypatch.setenv(VARIABLE, "")
    assert main(["doctor"]) == 0
    assert told == ["1"]
    assert os.environ[VARIABLE] == ""


@pytest.mark.slow
def test_nor_does_the_command_itself(folder):
    done = run(folder, LRA, "show", "protocol")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_nor_does_python_m_lra_once_it_is_begun(folder):
    """Before, Python itself looks for `lra` and for modules of its own there."""
    for name in ("lra", *STANDARD):
        (folder / f"{name}.py").unlink()
    done = run(folder, sys.executable, "-m", "lra", "show", "protocol")
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
@pytest.mark.some_in_ci(3)
@pytest.mark.parametrize(
    ("words", "finished"),
    [
        (["table", "run", *ONE, "workers=2", "seed=0"], 1),
        (["table", "run", *ONE, "seed=0"], 1),
        (["table", "plan", *ONE, "seed=0", "workers=2"], 0),
        (["train", *CELLS, "trainer=ddp"], 1),
        (["table", "run", *ONE, "seed=0,1", "workers=2", "hydra/launcher=joblib"], 2),
        (["train", "-m", *ONE, "seed=0,1", "hydra/launcher=joblib", "hydra.launcher.n_jobs=2"], 2),
        (["table", "run", *ONE, "seed=0", "hydra/launcher=submitit_local"], 1),
        (["train", "-m", *ONE, "seed=0", "hydra/launcher=submitit_local"], 1),
    ],
    ids=lambda value: " ".join(value[:2] + value[-2:]) if isinstance(value, list) else "",
)
def test_nor_do_the_processes_that_a_command_starts(folder, words, finished):
    done = run(folder, LRA, *words)
    assert done.returncode == 0, done.stderr
    assert records(folder) == finished


@pytest.mark.slow
@pytest.mark.exhaustive
def test_nor_do_the_processes_that_draw_images(folder):
    words = ("prepare", "task=pathfinder", "size=tiny", "++task.sizes.tiny.images=1200")
    done = run(folder, LRA, *words, LRA_DATA_DIR=str(folder.parent / "data"))  # the tests' own store has fewer images
    assert done.returncode == 0, done.stderr


SBATCH = """#!{python}
import json, os, sys
with open(os.environ["TOLD"], "w") as file:
    json.dump([os.environ.get("PYTHONSAFEPATH"), open(sys.argv[-1]).read()], file)
sys.exit("no cluster")
"""


@pytest.mark.slow
def test_a_job_of_slurm_is_told_by_the_environment_that_sbatch_passes_on(folder, tmp_path):
    """With `--export=ALL`, which is what sbatch does unless told otherwise; the command itself is submitit's."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("sbatch", "srun"):
        (programs / name).write_text(SBATCH.format(python=sys.executable))
        (programs / name).chmod(0o755)
    told = tmp_path / "told.json"
    words = ("table", "run", *ONE, "seed=0", "hydra/launcher=submitit_slurm")
    run(folder, LRA, *words, PATH=f"{programs}{os.pathsep}{os.environ['PATH']}", TOLD=str(told))
    variable, script = json.loads(told.read_text())
    assert variable == "1"
    assert "-m submitit.core._submit" in script
    assert "--export=" not in script
