"""A mistyped run is told without loading torch, which takes seconds."""

import subprocess
import sys

import pytest

from tests.conftest import ROOT, outer_environment

CODE = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name == "torch":
            raise ImportError(name)
sys.meta_path.insert(0, Absent())
from lra.cli import main
sys.exit(main([sys.argv[1], "run=00000000"]))
"""


@pytest.mark.parametrize("verb", ["evaluate", "diagnose"])
def test_a_run_that_is_not_there_is_told_without_torch(verb, tmp_path):
    env = {**outer_environment(), "LRA_RUNS_DIR": str(tmp_path)}
    words = [sys.executable, "-c", CODE, verb]
    done = subprocess.run(words, env=env, cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("lra: run=00000000 ")
    assert done.stderr.count("\n") == 1
