"""The cells of the notebook run in order, and what they end with is what the run's record says."""

from __future__ import annotations

import ast
import json
from typing import Any

import matplotlib
import pytest

from tests.conftest import ROOT

CELLS = json.loads((ROOT / "docs/examples/notebook.ipynb").read_text())["cells"]
CODE = {cell["id"]: "".join(cell["source"]) for cell in CELLS if cell["cell_type"] == "code"}


def shown(source: str, names: dict[str, Any]) -> Any:
    """Run a cell, and return the value of its last line, which a notebook would show."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "notebook.ipynb", "exec"), names)
    return None if last is None else eval(compile(ast.Expression(last.value), "notebook.ipynb", "eval"), names)


@pytest.mark.slow
def test_the_cells_run_in_order(home, capsys):
    matplotlib.use("agg")
    names: dict[str, Any] = {}
    values = {cell: shown(source, names) for cell, source in CODE.items()}
    (record,) = [json.loads(path.read_text()) for path in home.rglob("result.json")]
    printed = capsys.readouterr().out
    assert values["compose"].name == "nystrom"
    assert values["model"] == (8, 10)
    assert f"{record['cost']['parameters']:,} parameters" in printed
    assert names["trainer"].global_step == 20
    assert 0 < values["train"] < 1
    assert values["run"] == (record["outcome"]["test_accuracy"], record["outcome"]["majority_rate"])
    assert values["records"]["outcome.test_accuracy"].tolist() == [record["outcome"]["test_accuracy"]]
    assert len(names["axes"].lines) == 2


def test_the_notebook_holds_no_outputs():
    assert all(cell.get("outputs", []) == [] for cell in CELLS)
    assert list(CODE) == ["compose", "data", "model", "train", "run", "records", "plot"]
