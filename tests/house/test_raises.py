"""A public class or function that refuses something says so in its docstring, under `Raises`."""

import ast

import pytest

from tests.house.test_floors import FILES, ROOT

CONSTRUCTORS = ("__init__", "__post_init__", "__new__")


def raises(function: ast.FunctionDef) -> bool:
    """Whether the function itself raises a UserError."""
    calls = [node.exc for node in ast.walk(function) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    return any(isinstance(call.func, ast.Name) and call.func.id == "UserError" for call in calls)


def silent(code: ast.Module) -> list[str]:
    """Names of those that refuse something and do not say so."""
    names = []
    for node in ast.walk(code):
        if isinstance(node, ast.ClassDef):
            parts = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name in CONSTRUCTORS]
            refuses = any(map(raises, parts))
        else:
            refuses = isinstance(node, ast.FunctionDef) and raises(node)
        if refuses and not node.name.startswith("_") and "Raises:" not in (ast.get_docstring(node) or ""):
            names.append(node.name)
    return names


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_what_refuses_says_so(path):
    code = ast.parse(path.read_text())
    verbs = {"run", "main"} if path.parent.name == "verbs" else set()  # their docstring is the file's help
    assert [name for name in silent(code) if name not in verbs] == []
