"""The rooms are what they say: a file per verb, and no file that needs itself by way of others."""

from lra.cli import MODULES, VERBS
from tests.house.test_floors import FILES, ROOT, imports


def test_each_verb_has_its_file():
    files = {path.stem for path in (ROOT / "lra/verbs").glob("*.py")}
    assert {MODULES.get(verb, verb) for verb in VERBS} <= files


def test_no_circle_of_files():
    """Imports inside functions and for types alone count too."""
    modules = {".".join(path.relative_to(ROOT).with_suffix("").parts): path for path in FILES}
    needs = {
        name: {there for line in imports(path) for there in (line, line.rpartition(".")[0]) if there in modules}
        for name, path in modules.items()
    }
    while free := {name for name, needed in needs.items() if not needed & needs.keys()}:
        for name in free:
            del needs[name]
    assert needs == {}, "each of these needs one of the others, or itself"
