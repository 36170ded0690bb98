"""Install the build of torch that this machine can use: without an NVIDIA GPU the CPU build, which is 4 GB smaller.

  python install_torch.py        the build for this machine
  python install_torch.py cpu    or cuda: this build

The version is that of constraints.txt. The CPU build comes from PyTorch's own index, or from an index that pip is
configured with. If none has it, nothing is installed: gigabytes of CUDA are only taken where they are of use, or asked
for. `make setup` runs this first, with `TORCH=`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
DRIVER = Path(os.environ.get("NVIDIA_DRIVER", "/proc/driver/nvidia"))  # is there when the driver is loaded
BUILDS = ("cpu", "cuda")
PATIENCE = ("--retries", "1", "--timeout", "15")  # the index may be out of reach, and others may have the build


def main(words: list[str]) -> str:
    """Install torch, say on stderr which build and why, and return the build for stdout."""
    version = re.search(r"^torch==(\S+)$", Path(__file__).with_name("constraints.txt").read_text(), re.MULTILINE)
    assert version is not None
    torch = f"torch=={version[1]}"
    if words[1:] or (words and words[0] not in BUILDS):
        sys.exit(f"TORCH={' '.join(words)} is not known; choose one of {', '.join(BUILDS)}, or leave it out")
    build = words[0] if words else "cuda" if has_gpu() else "cpu"
    done = install_cpu(torch) if build == "cpu" else install_cuda(torch)
    if done.returncode:
        sys.exit(f"pip could not install {torch}: {done.stderr.strip()}")
    why = "as asked" if words else "an NVIDIA GPU is seen" if build == "cuda" else "no NVIDIA GPU is seen"
    other = BUILDS[build == "cpu"]
    print(f"{torch}, {build} build ({why}; for the other: make clean setup TORCH={other})", file=sys.stderr)
    return build


def install_cpu(torch: str) -> subprocess.CompletedProcess[str]:
    """Install the CPU build from PyTorch's index, else from pip's own if that has it."""
    # A local version such as +cpu is never on PyPI, so this cannot become another build.
    done = pip_install(*PATIENCE, "--extra-index-url", CPU_INDEX, f"{torch}+cpu")
    if done.returncode == 0:
        return done
    if brings_cuda(torch):
        said = (done.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        sys.exit(
            f"no CPU build of {torch} was found, neither at {CPU_INDEX} nor in pip's index ({said}); for the CUDA build"
            " (5 GB) type: make setup TORCH=cuda"
        )
    return pip_install(torch)


def install_cuda(torch: str) -> subprocess.CompletedProcess[str]:
    """Install the build of pip's own index, which on PyPI is the CUDA build."""
    if not brings_cuda(torch):
        sys.exit(f"pip's index has no CUDA build of {torch}; see pip config list, or type: make setup TORCH=cpu")
    return pip_install(torch)


def pip_install(*words: str) -> subprocess.CompletedProcess[str]:
    """Install torch alone; what it depends on comes with the project, in the versions of constraints.txt."""
    return pip("install", "--quiet", "--no-deps", *words)


def has_gpu() -> bool:
    """Whether an NVIDIA driver is loaded, or `nvidia-smi` lists a GPU (in WSL the driver has no folder)."""
    try:
        return DRIVER.exists() or bool(subprocess.run(["nvidia-smi", "-L"], capture_output=True, check=True).stdout)
    except (OSError, subprocess.CalledProcessError):
        return False


def brings_cuda(torch: str) -> bool:
    """Whether the build in pip's own index depends on CUDA's packages; only its metadata is read."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        looked = pip(
            "install", "--dry-run", "--ignore-installed", "--no-deps", "--quiet", "--report", str(report), torch
        )
        if looked.returncode:
            sys.exit(f"pip finds no {torch}: {looked.stderr.strip()}")
        (found,) = json.loads(report.read_text())["install"]
    return any(re.match("nvidia|cuda", needed) for needed in found["metadata"].get("requires_dist", []))


def pip(*words: str) -> subprocess.CompletedProcess[str]:
    """Run pip of this environment."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    print(main(sys.argv[1:]))
