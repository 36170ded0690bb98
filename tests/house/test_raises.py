"""A public class or function that refuses something says so in its docstring, under `Raises`."""

import ast

from tests.house.test_floors import FILES, assert_none, parsed, place

CONSTRUCTORS = ("__init__", "__post_init__", "__new__")


def raises(function: ast.FunctionDef) -> bool:
    """Whether the function itself raises a UserError."""
    calls = [node.exc for node in ast.walk(function) if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call)]
    return any(isinstance(call.func, ast.Name) and call.func.id == "UserError" for call in calls)


def silent(code: ast.Module) -> list[tuple[int, str]]:
    """Lines and names of those that refuse something and do not say so."""
    found = []
    for node in ast.walk(code):
        if isinstance(node, ast.ClassDef):
            parts = [part for part in node.body if isinstance(part, ast.FunctionDef) and part.name in CONSTRUCTORS]
            refuses = any(map(raises, parts))
        else:
            refuses = isinstance(node, ast.FunctionDef) and raises(node)
        if refuses and not node.name.startswith("_") and "Raises:" not in (ast.get_docstring(node) or ""):
            found.append((node.lineno, node.name))
    return found


def test_what_refuses_says_so():
    offenders = []
    for path in FILES:
        verbs = {"run", "main"} if path.parent.name == "verbs" else set()  # their docstring is the file's help
        for line, name in silent(parsed(path)):
            if name not in verbs:
                offenders.append(f"{place(path, line)} {name} raises UserError, and its docstring has no Raises:")
    assert_none(offenders)
