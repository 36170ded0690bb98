"""Read which software computes a run: versions, and the commit of the source tree."""

from __future__ import annotations

import importlib.metadata
import platform
import subprocess
from pathlib import Path

PACKAGES = ("lra", "torch", "pytorch-lightning", "torchmetrics", "hydra-core", "numpy")


def versions() -> dict[str, str]:
    """Read the versions of Python, the platform and the packages that can change a result."""
    numbers = {name: importlib.metadata.version(name) for name in PACKAGES if _installed(name)}
    return {"python": platform.python_version(), "platform": platform.platform(), **numbers}


def _installed(name: str) -> bool:
    try:
        importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True


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
