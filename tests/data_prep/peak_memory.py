"""The largest memory of a command in a process of its own: `wait4` would begin with that of the tests' process."""

import subprocess
import sys
from pathlib import Path

from tests.conftest import outer_environment

CODE = """
import sys
from lra.base.processes import peak_resident_bytes
from lra.cli import main
code = main(sys.argv[1:])
print(peak_resident_bytes())
sys.exit(code)
"""


def code_and_peak_bytes(*words: str, folder: Path, **env: str) -> tuple[int, int]:
    """Type a command of lra in a folder; return its exit code, and the largest memory of its process."""
    done = subprocess.run(
        [sys.executable, "-c", CODE, *words],
        env={**outer_environment(), **env},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip(), done.stderr
    return done.returncode, int(done.stdout.split()[-1])
