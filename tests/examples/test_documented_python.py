"""The Python that the README and docs/python.md show runs as it stands, page by page."""

from __future__ import annotations

import re
import shutil
from typing import Any

import matplotlib
import pytest

from lra.cli import main
from tests.conftest import ROOT


@pytest.mark.slow
@pytest.mark.parametrize("page", ["README.md", "docs/python.md"])
def test_what_is_shown_runs(home, page):
    matplotlib.use("agg")
    assert main(["train", "task=listops", "size=tiny", "logger=csv", "trainer.threads=1"]) == 0
    shutil.copytree(home / "default", home / "table")
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    assert blocks
    names: dict[str, Any] = {}
    for block in blocks:
        exec(block, names)
    assert len(names["frame"]) == 1
    assert names["run"].record["outcome"]["steps"] == 20
