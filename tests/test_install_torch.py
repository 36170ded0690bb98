"""Set-up takes the CPU build of torch where no NVIDIA GPU is seen, and CUDA only where it is of use or asked for."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

VERSION = next(line for line in (ROOT / "constraints.txt").read_text().splitlines() if line.startswith("torch=="))
FAKE_PIP = """
import json, os, sys
from pathlib import Path
words = sys.argv[1:]
log = Path(os.environ["PIP_LOG"])
log.write_text((log.read_text() if log.exists() else "") + " ".join(words) + "\\n")
if words[-1].endswith("+cpu") and "cpu" not in os.environ["HAS"].split():
    sys.exit("ERROR: No matching distribution found for " + words[-1])
if "--dry-run" in words:
    cuda = ["nvidia-cudnn-cu13==9.20; platform_system == 'Linux'"] if "cuda" in os.environ["HAS"] else []
    report = {"install": [{"metadata": {"name": "torch", "requires_dist": ["filelock", *cuda]}}]}
    Path(words[words.index("--report") + 1]).write_text(json.dumps(report))
"""


@pytest.fixture
def install(tmp_path):
    """Run the script with a pip that only writes down what it is told; gives the process and pip's installs."""
    (tmp_path / "modules/pip").mkdir(parents=True)
    (tmp_path / "modules/pip/__init__.py").touch()
    (tmp_path / "modules/pip/__main__.py").write_text(FAKE_PIP)
    (tmp_path / "bin").mkdir()

    def run(*words: str, has: str = "", gpu: str = "none") -> tuple[subprocess.CompletedProcess[str], list[str]]:
        driver = tmp_path / "driver"
        if gpu == "driver":
            driver.mkdir()
        if gpu == "nvidia-smi":
            (tmp_path / "bin/nvidia-smi").write_text("#!/bin/sh\necho GPU 0: H100\n")
            (tmp_path / "bin/nvidia-smi").chmod(0o755)
        env = {"PATH": str(tmp_path / "bin") + ":/bin", "PYTHONPATH": str(tmp_path / "modules"), "HAS": has}
        env |= {"NVIDIA_DRIVER": str(driver), "PIP_LOG": str(tmp_path / "log")}
        command = [sys.executable, str(ROOT / "install_torch.py"), *words]
        done = subprocess.run(command, env={**os.environ, **env}, capture_output=True, text=True, check=False)
        lines = (tmp_path / "log").read_text().splitlines() if (tmp_path / "log").exists() else []
        return done, [line for line in lines if "--dry-run" not in line]

    return run


def test_without_a_gpu_the_cpu_build_is_taken(install):
    done, installs = install(has="cpu cuda")
    assert (done.returncode, done.stdout) == (0, "cpu\n")
    assert installs[-1].endswith(f"--extra-index-url https://download.pytorch.org/whl/cpu {VERSION}+cpu")
    assert done.stderr == f"{VERSION}, cpu build (no NVIDIA GPU is seen; for the other: make clean setup TORCH=cuda)\n"


@pytest.mark.parametrize("gpu", ["driver", "nvidia-smi"])
def test_with_a_gpu_the_build_of_pypi_is_taken(install, gpu):
    done, installs = install(has="cpu cuda", gpu=gpu)
    assert (done.returncode, done.stdout) == (0, "cuda\n")
    assert [line.split()[-1] for line in installs] == [VERSION]


def test_a_cpu_build_in_pips_own_index_does_without_pytorchs(install):
    done, installs = install()
    assert (done.returncode, done.stdout) == (0, "cpu\n")
    assert installs[-1].split()[-1] == VERSION
    assert len(done.stderr.splitlines()) == 1


def test_cuda_is_never_taken_unasked(install):
    done, installs = install(has="cuda")
    assert done.returncode == 1
    assert [line for line in installs if not line.endswith("+cpu")] == []
    assert len(done.stderr.splitlines()) == 1
    assert "for the CUDA build (5 GB) type: make setup TORCH=cuda" in done.stderr


def test_what_is_asked_for_is_taken_or_refused(install):
    assert install("cuda", has="cuda")[0].stdout == "cuda\n"
    assert install("cpu", has="cpu cuda", gpu="driver")[0].stdout == "cpu\n"
    assert "pip's index has no CUDA build" in install("cuda", has="cpu", gpu="nvidia-smi")[0].stderr
    assert "TORCH=rocm is not known; choose one of cpu, cuda" in install("rocm")[0].stderr


def test_another_build_over_an_environment_is_refused(tmp_path):
    (tmp_path / "venv").mkdir()
    (tmp_path / "venv/.installed").write_text("cpu\n")
    words = ["make", "-C", str(ROOT), "-o", str(tmp_path / "venv/.installed"), "setup", f"VENV={tmp_path / 'venv'}"]
    refused = subprocess.run([*words, "TORCH=cuda"], capture_output=True, text=True, check=False)
    assert refused.returncode != 0
    assert "type: make clean setup TORCH=cuda" in refused.stdout
    assert subprocess.run([*words, "TORCH=cpu"], capture_output=True, check=False).returncode == 0
    assert Path(tmp_path / "venv/.installed").read_text() == "cpu\n"
