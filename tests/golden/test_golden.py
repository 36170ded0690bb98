"""The golden files are what the code makes."""

import difflib

import pytest

from tests.golden.contents import GOLDEN, files
from tests.renew import stale

FILES = files()


def test_no_golden_file_is_left_over():
    there = {str(path.relative_to(GOLDEN)) for path in GOLDEN.glob("*/*") if path.suffix in (".txt", ".yaml", ".md")}
    assert there == set(FILES)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_nothing_has_moved(name):
    check_that_nothing_has_moved(name)


def check_that_nothing_has_moved(name: str) -> None:
    before, now = (GOLDEN / name).read_text(), FILES[name]()
    moved = difflib.unified_diff(before.splitlines(), now.splitlines(), "before", "now", lineterm="", n=0)
    assert before == now, "\n".join([stale("golden"), *list(moved)[:20]])
