"""The Python that the README and docs/python.md show runs as it stands."""

import re
import shutil
import sys
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


def test_the_attention_of_the_first_page_keeps_the_contract(tmp_path, monkeypatch):
    (code,) = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    (tmp_path / "first_page.py").write_text(code)
    (tmp_path / "conf/attention").mkdir(parents=True)
    options = "name: mine\n_target_: first_page.Mine\n_partial_: true\nscale: 8.0\n"
    (tmp_path / "conf/attention/mine.yaml").write_text(options)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("LRA_CONF_PATH", str(tmp_path / "conf"))
    assert main(["check", "attention=mine"]) == 0
    (tmp_path / "first_page.py").write_text(code.replace("v_BHLE, valid_BL, scale", "v_BHLE, None, scale"))
    monkeypatch.delitem(sys.modules, "first_page")
    assert main(["check", "attention=mine"]) == 2, "a forgotten mask is found"
