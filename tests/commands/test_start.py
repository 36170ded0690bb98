"""The very start of a command, before it hears signals: short, so that a Ctrl-C hardly ever meets it."""

import subprocess
import sys

from tests.conftest import ROOT


def test_nothing_slow_is_imported_before_the_entry_point_has_set_its_handler():
    """`python -m lra` imports the package before `lra.__main__`; a Ctrl-C in their imports would give a traceback."""
    code = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
before = set(sys.modules)
sys.modules["lra.cli"] = None  # is imported after the handler
try:
    import lra.__main__
except ModuleNotFoundError:
    print(*set(sys.modules) - before - {{"lra.cli"}})
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    small = {"importlib", "importlib._bootstrap", "importlib._bootstrap_external", "warnings", "__future__"}
    assert set(done.stdout.split()) - small == {"lra", "lra.base", "lra.base.openmp", "lra.base.packed_form"}
