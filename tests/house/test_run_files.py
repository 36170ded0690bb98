"""The names of a run's files stand in one file."""

import ast

from lra.runs import files as run_files
from tests.house.test_floors import FILES, ROOT, assert_none, parsed, place

NAMES = {value for name, value in vars(run_files).items() if name.isupper() and isinstance(value, str)}

OF_DIAGNOSE = {run_files.DIAGNOSIS, run_files.DIAGNOSIS_PAGE}


def typed_names(code: ast.AST) -> set[tuple[int, str]]:
    """Lines and file names of a run that the code types itself: as a text of their own, or as a part of a path."""
    found = set()
    for node in ast.walk(code):
        in_path = isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div)
        text = node.right if in_path else node
        if isinstance(text, ast.Constant) and text.value in NAMES and (in_path or "." in text.value):
            found.add((text.lineno, text.value))
    return found


def test_the_names_are_those_of_the_documents():
    assert {"result.json", "metrics.csv", "config.yaml", "curve.png", "best.ckpt", "last.ckpt"} <= NAMES
    commands = (ROOT / "docs/commands.md").read_text()
    assert all(
        f"`{name}`" in commands for name in NAMES - {"data.json", "code.json", "wandb_id", "failed.json"} - OF_DIAGNOSE
    )
    page = (ROOT / "docs/diagnosis.md").read_text()
    assert all(f"`{name}`" in page for name in OF_DIAGNOSE)


def test_no_other_file_types_them():
    assert_none(
        f"{place(path, line)} types {name}: take it from lra.runs.files"
        for path in FILES
        if path != ROOT / "lra/runs/files.py"
        for line, name in sorted(typed_names(parsed(path)))
    )
