"""Small bugs, each planted in a function while its module is imported; no file changes.

A bug names the function, not its file: `place` is the end of its dotted name, as `NystromAttention.forward` or
`valid_segments`, long enough to mean one function, method, class or constant of `lra`. In it, `new` stands for `old`:
an expression, a statement, or an argument of a signature with its annotation, which must be there once. Code is
compared as syntax trees, so that line breaks, blanks, comments, quotes and the place of the function do not matter.
"""

import ast
from collections.abc import Iterator, Sequence
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]


class Bug(NamedTuple):
    """A function and the code in it that another takes the place of; the head of this file has the rules."""

    place: str
    old: str
    new: str


class Planter(MetaPathFinder):
    """Imports one module with the bug in it, in the process whose `sys.meta_path` has this object first.

    A LookupError tells that not exactly one function has the name, or that the old code is not in it exactly once; a
    SyntaxError or a TypeError, that the new code cannot stand there. Processes that the tests start import the module
    as it is.
    """

    def __init__(self, bug: Bug):
        self.module, path = module_of(bug.place)
        self.tree = planted(path.read_text("utf-8"), self.module, bug)
        compile(self.tree, path, "exec")

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if fullname != self.module:
            return None
        spec = PathFinder.find_spec(fullname, path)
        assert spec is not None
        assert spec.origin is not None
        spec.loader = _TreeLoader(fullname, spec.origin, self.tree)
        return spec


class _TreeLoader(SourceFileLoader):
    """Loads a module from a syntax tree, and neither from a `.pyc` file nor into one."""

    def __init__(self, fullname: str, path: str, tree: ast.Module):
        super().__init__(fullname, path)
        self.tree = tree

    def get_code(self, fullname: str) -> CodeType:
        return compile(self.tree, self.path, "exec", dont_inherit=True)


def module_of(place: str) -> tuple[str, Path]:
    """Find the module, and its file, of the one function, class or constant of `lra` whose dotted name ends so."""
    found = [(module, path, name) for module, path, name in _names_in_lra() if _means(place, module, name)]
    if len(found) != 1:
        names = ", ".join(f"{module}.{name}" for module, _, name in found)
        raise LookupError(f"{place} is the end of {len(found)} names in lra, not of one: {names}")
    return found[0][:2]


def planted(source: str, module: str, bug: Bug) -> ast.Module:
    """Parse the source of a module, and put the bug in it."""
    tree = ast.parse(source)
    exchange = _Exchange(_fragment(bug.old), _fragment(bug.new))
    for name, definition in _definitions(tree):
        if _means(bug.place, module, name):
            exchange.generic_visit(definition)
    if exchange.places != 1:
        raise LookupError(f"{bug.place} has this code {exchange.places} times, not once: {bug.old}")
    return tree


class _Exchange(ast.NodeTransformer):
    """Puts `new` in place of what is `old`, and counts the places."""

    def __init__(self, old: ast.AST, new: ast.AST):
        self.old, self.new, self.places = old, new, 0

    def visit(self, node: ast.AST) -> ast.AST:
        if type(node) is not type(self.old) or ast.dump(node) != ast.dump(self.old):
            return self.generic_visit(node)
        self.places += 1
        for part in ast.walk(self.new):
            ast.copy_location(part, node)
        return self.new


def _fragment(code: str) -> ast.AST:
    """Parse an expression, a statement, or an argument with its annotation, as `heads: int`."""
    (statement,) = ast.parse(code).body
    match statement:
        case ast.Expr(value=expression):
            return expression
        case ast.AnnAssign(target=ast.Name(id=argument), annotation=annotation, value=None):
            return ast.arg(argument, annotation)
    return statement


@cache
def _names_in_lra() -> list[tuple[str, Path, str]]:
    """List the module, the file and the name in the module of all that can have a bug."""
    names = []
    for path in sorted((ROOT / "lra").rglob("*.py")):
        module = ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
        names += [(module, path, name) for name, _ in _definitions(ast.parse(path.read_text("utf-8")))]
    return names


def _definitions(tree: ast.Module | ast.ClassDef, within: str = "") -> Iterator[tuple[str, ast.stmt]]:
    """Give the functions, classes and constants of a module, and those of its classes, with their names."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield within + node.name, node
        if isinstance(node, ast.ClassDef):
            yield from _definitions(node, f"{within}{node.name}.")
        if isinstance(node, ast.Assign | ast.AnnAssign):
            targets = (
                each for each in ast.walk(node) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
            )
            yield from ((within + target.id, node) for target in targets)


def _means(place: str, module: str, name: str) -> bool:
    return f".{module}.{name}".endswith(f".{place}")
