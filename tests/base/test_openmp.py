"""OpenMP's threads are told how to wait before torch is loaded, in the command and in all that it starts."""

import os
import subprocess
import sys

import pytest

from lra.base.openmp import SHARE, SPIN_COUNT, SPINS, THREADS, USERS_CHOICES, cores, share_of_threads

SHOWN = f"{SPIN_COUNT} = '{SPINS}'"  # libgomp prints its variables when it is loaded, if OMP_DISPLAY_ENV asks for it
LOADED = "_OPENMP ="  # in what it prints


def run(*words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    kept = {name: value for name, value in os.environ.items() if name not in (*USERS_CHOICES, "OMP_NUM_THREADS")}
    environment = {**kept, "OMP_DISPLAY_ENV": "VERBOSE", **variables}
    return subprocess.run([sys.executable, "-P", *words], env=environment, capture_output=True, text=True, check=True)


def test_what_imports_lra_first_has_threads_that_sleep_soon():
    done = run("-c", "import lra, torch; torch.ones(1)")
    assert SHOWN in done.stderr


@pytest.mark.parametrize("choice", USERS_CHOICES)
def test_a_choice_of_the_users_stays(choice):
    printed = f"import os, lra; print({{name: os.environ.get(name) for name in {USERS_CHOICES!r}}})"
    value = "PASSIVE" if choice == "OMP_WAIT_POLICY" else "7"
    done = run("-c", printed, **{choice: value})
    assert eval(done.stdout) == {**dict.fromkeys(USERS_CHOICES), choice: value}


@pytest.mark.slow
def test_a_torch_that_is_loaded_already_is_told_of_in_one_warning():
    late = "import torch; torch.set_num_threads({}); import os, lra; assert 'GOMP_SPINCOUNT' not in os.environ"
    assert run("-c", late.format(2)).stderr.count("UserWarning") == 1
    assert "UserWarning" not in run("-c", late.format(1)).stderr


def test_children_such_as_ranks_have_such_threads():
    script = f"""
import sys, lra
from lra.base.processes import Child
child = Child((sys.executable, "-c", "import os; print(os.environ['{SPIN_COUNT}'])"), keep_output=True)
child.wait()
print(child.output)
"""
    assert run("-c", script).stdout == f"['{SPINS}']\n"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_workers_have_such_threads(tmp_path):
    cells = (
        "table",
        "run",
        "task=listops",
        "attention=full,none",
        "seed=0",
        "size=tiny",
        "recipe.steps=2",
        "workers=2",
    )
    done = run("-m", "lra", *cells, LRA_RUNS_DIR=str(tmp_path), LRA_DATA_DIR=str(tmp_path))
    assert done.stderr.count(LOADED) == done.stderr.count(SHOWN) >= 2


@pytest.mark.parametrize("processes, share", [(1, "8"), (2, "4"), (3, "2"), (20, "1")])
def test_several_processes_share_the_cores_unless_the_user_chose(processes, share, monkeypatch):
    monkeypatch.setattr("lra.base.openmp.cores", lambda: 8)
    monkeypatch.setenv(THREADS, "3")
    assert share_of_threads(processes) == {THREADS: "3"}
    monkeypatch.delenv(THREADS)
    assert share_of_threads(processes) == {THREADS: share, SHARE: share}


def test_what_one_of_them_starts_shares_its_share(monkeypatch):
    monkeypatch.setattr("lra.base.openmp.cores", lambda: 8)
    monkeypatch.delenv(THREADS)
    for name, value in share_of_threads(2).items():
        monkeypatch.setenv(name, value)
    assert share_of_threads(4) == {THREADS: "1", SHARE: "1"}
    monkeypatch.setenv(THREADS, "6")
    assert share_of_threads(4) == {THREADS: "6"}


def test_only_cores_that_this_process_may_use_are_shared(monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {3, 5})
    monkeypatch.setattr("os.cpu_count", lambda: 128)
    assert cores() == 2
