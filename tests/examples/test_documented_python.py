"""The Python that docs/python.md shows runs as it stands."""

import re
import shutil
from typing import Any

import matplotlib
import pytest

from lra.cli import main
from tests.conftest import ROOT


@pytest.mark.slow
def test_what_is_shown_runs(home):
    matplotlib.use("agg")
    assert main(["train", "task=listops", "size=tiny", "logger=csv", "trainer.threads=1"]) == 0
    shutil.copytree(home / "default", home / "table")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / "docs/python.md").read_text(), re.DOTALL)
    assert blocks
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert len(names["frame"]) == 1
    assert names["run"].record["outcome"]["steps"] == 20
