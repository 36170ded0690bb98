"""A bug is planted in the function that it names, however the code is laid out, and in no file."""

import ast
from importlib import import_module
from importlib.abc import MetaPathFinder
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
from types import ModuleType

import pytest

from tests.attention.planting import Bug, Planter, module_of, planted

SOURCE = """
LARGE, SMALL = 1e5, 1e-5

def scale(x):
    return x * 2

class Layer:
    def __init__(self, heads: Count):
        self.heads = heads

    def scale(self, x):
        y = self.weight(x, "first")[
            0
        ] * 2  # a comment
        y = self.weight(y, "second") * 2
        return y
"""


def planted_in(place: str, old: str, new: str) -> str:
    return ast.unparse(planted(SOURCE, "lra.layer", Bug(place, old, new)))


@pytest.mark.parametrize(
    "place, old, new, line",
    [
        (
            "Layer.scale",
            "self.weight(x, 'first')[0] * 2",
            "self.weight(x, 'first')[0]",
            "y = self.weight(x, 'first')[0]",
        ),
        ("Layer.scale", "y = self.weight(y, 'second') * 2", "y = 0", "y = 0"),
        ("layer.scale", "x * 2", "x * 3", "return x * 3"),
        ("Layer.__init__", "heads: Count", "heads: int", "def __init__(self, heads: int):"),
        ("SMALL", "1e-5", "0.0", "LARGE, SMALL = (100000.0, 0.0)"),
    ],
)
def test_expressions_statements_and_annotations_are_exchanged_in_the_function_named_alone(place, old, new, line):
    before, after = ast.unparse(ast.parse(SOURCE)).splitlines(), planted_in(place, old, new).splitlines()
    changed = [is_now.strip() for was, is_now in zip(before, after, strict=True) if was != is_now]
    assert changed == [line]


@pytest.mark.parametrize(
    "place, old",
    [
        ("Layer.scale", "self.weight"),  # twice
        ("Layer.scale", "x * 2"),  # in another function
        ("Layer.shift", "x * 2"),  # in none
    ],
)
def test_what_is_not_there_exactly_once_is_refused(place, old):
    with pytest.raises(LookupError):
        planted_in(place, old, "0")


@pytest.mark.parametrize("place", ["forward", "no_function_of_lra"])
def test_a_name_of_many_functions_or_of_none_is_refused(place):
    with pytest.raises(LookupError):
        module_of(place)


def test_code_that_cannot_stand_there_is_refused():
    with pytest.raises(TypeError):
        Planter(Bug("TINY_NORM", "1e-12", "return 1e-12"))


def test_one_import_has_the_bug_and_the_next_one_has_not():
    planter = Planter(Bug("TINY_NORM", "1e-12", "1e-3"))
    assert imported(planter, planter.module).TINY_NORM == 1e-3  # though there is a .pyc file
    assert imported(PathFinder, planter.module).TINY_NORM == 1e-12
    assert planter.find_spec("lra.ops.landmarks", None) is None


def imported(finder: MetaPathFinder | type[PathFinder], name: str) -> ModuleType:
    """Import a module beside the one that is there."""
    spec = finder.find_spec(name, import_module(name.rpartition(".")[0]).__path__)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
