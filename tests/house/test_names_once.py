"""A public name of a module means one thing: who reads it in one room does not think of another's."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import yaml

from tests.house.test_floors import FILES, ROOT

ROLES = yaml.safe_load(Path(__file__).with_name("names_of_roles.yaml").read_text())


def bound(node: ast.stmt) -> Iterator[str]:
    """Names that a statement of a module gives to a class, a function or a value."""
    match node:
        case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
            yield name
        case ast.Assign(targets=targets):
            yield from (part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name))
        case ast.AnnAssign(target=ast.Name(id=name)):
            yield name


def homes() -> dict[str, set[str]]:
    """The files in which each public name is bound."""
    files: dict[str, set[str]] = defaultdict(set)
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            for name in bound(node):
                if not name.startswith("_"):
                    files[name].add(str(path.relative_to(ROOT)))
    return files


def test_a_public_name_has_one_home_unless_it_is_that_of_a_role():
    assert {name: files for name, files in homes().items() if len(files) > 1 and name not in ROLES} == {}


def test_a_role_is_played_several_times_and_only_where_it_says():
    files = homes()
    for name, role in ROLES.items():
        assert len(files[name]) > 1, f"{name} has one home: names_of_roles.yaml need not have it"
        elsewhere = [file for file in files[name] if not fnmatchcase(file, role["in"])]
        assert not elsewhere, f"{name} is {role['is']} in {role['in']}; another name for what it is in {elsewhere}?"
