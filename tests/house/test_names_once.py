"""A class has a name of its own: who reads it in one room does not think of another's."""

from __future__ import annotations

import ast
from collections import defaultdict

from tests.house.test_floors import FILES, ROOT


def test_no_two_public_classes_are_called_alike():
    homes = defaultdict(list)
    for path in FILES:
        for node in ast.parse(path.read_text()).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].append(str(path.relative_to(ROOT)))
    assert {name: files for name, files in homes.items() if len(files) > 1} == {}
