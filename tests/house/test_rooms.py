"""The rooms are what they say: a file per verb, and no file that needs itself by way of others."""

from lra.base.verb_files import verb_file
from lra.cli import VERBS
from tests.house.test_floors import FILES, ROOT, imports


def test_each_verb_has_its_file():
    assert all(verb_file(verb).is_file() for verb in VERBS)


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
