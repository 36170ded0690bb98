"""Read what computes a run: the processor, versions, and the commit of the source tree."""

import importlib.metadata
import platform
import subprocess
from contextlib import suppress
from pathlib import Path

VECTORS = ("avx512f", "avx2")  # as Linux calls them, the widest first
PACKAGES = ("lra", "torch", "pytorch-lightning", "torchmetrics", "hydra-core", "numpy")


def versions() -> dict[str, str]:
    """Read the versions of Python, the platform, the processor and the packages that can change a result."""
    numbers = {}
    for name in PACKAGES:
        with suppress(importlib.metadata.PackageNotFoundError):
            numbers[name] = importlib.metadata.version(name)
    return {"python": platform.python_version(), "platform": platform.platform(), "processor": processor(), **numbers}


def processor() -> str:
    """Name the processor with its widest vectors, such as `AMD EPYC (avx2)`, which decide how fast products are."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.machine()
    facts = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in reversed(lines))}
    vectors = next((name for name in VECTORS if name in facts.get("flags", "").split()), None)
    return facts.get("model name", platform.machine()) + (f" ({vectors})" if vectors else "")


def git_commit() -> str | None:
    """Read the commit of the source tree, with `-dirty` if files differ from it; None if installed from a wheel."""
    root = Path(__file__).resolve().parents[2]
    if not (root / ".git").exists():
        return None
    command = ["git", "-C", str(root), "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() or None
