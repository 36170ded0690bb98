"""The names of a run's files stand in one file."""

import ast

import pytest

from lra.runs import files as run_files
from tests.house.test_floors import FILES, ROOT

NAMES = {value for name, value in vars(run_files).items() if name.isupper() and isinstance(value, str)}

OF_DIAGNOSE = {run_files.DIAGNOSIS, run_files.DIAGNOSIS_PAGE}


def typed_names(code: ast.AST) -> set[str]:
    """File names of a run that the code types itself: as a text of their own, or as a part of a path."""
    texts = {node.value for node in ast.walk(code) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
    parts = [node.right for node in ast.walk(code) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)]
    in_paths = {part.value for part in parts if isinstance(part, ast.Constant)}
    return {name for name in NAMES if name in in_paths or (name in texts and "." in name)}


def test_the_names_are_those_of_the_documents():
    assert {"result.json", "metrics.csv", "config.yaml", "curve.png", "best.ckpt", "last.ckpt"} <= NAMES
    commands = (ROOT / "docs/commands.md").read_text()
    assert all(
        f"`{name}`" in commands for name in NAMES - {"data.json", "code.json", "wandb_id", "failed.json"} - OF_DIAGNOSE
    )
    page = (ROOT / "docs/diagnosis.md").read_text()
    assert all(f"`{name}`" in page for name in OF_DIAGNOSE)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_other_file_types_them(path):
    if path != ROOT / "lra/runs/files.py":
        assert not typed_names(ast.parse(path.read_text())), "take it from lra.runs.files"
