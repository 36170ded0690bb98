"""The Python in docs/huggingface.md runs as it stands."""

import re
from typing import Any

import pytest
import torch

from lra.cli import main
from tests.conftest import ROOT
from tests.tools.interop.test_exported import trained

BLOCKS = re.findall(r"```python\n(.*?)```", (ROOT / "docs/huggingface.md").read_text(), re.DOTALL)


def test_the_page_has_a_conversion_and_an_export():
    assert ["from_huggingface(" in block for block in BLOCKS] == [True, False]


def test_the_conversion():
    pytest.importorskip("transformers", reason="pip install -e '.[hf]'")
    names: dict[str, Any] = {}
    exec(BLOCKS[0], names)
    pairs = zip(names["theirs"].parameters(), names["again"].parameters(), strict=True)
    assert all(weight.equal(other) for weight, other in pairs)


@pytest.mark.slow
def test_the_export(home, monkeypatch):
    assert main(["export", f"run={trained()}", "to=my-model"]) == 0
    names: dict[str, Any] = {"tokens": torch.randint(0, 16, (2, 1, 256))}
    exec(BLOCKS[1], names)
    assert names["logits"].shape == (2, 10)
