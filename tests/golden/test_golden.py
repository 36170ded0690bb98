"""The golden files are what the code makes."""

import difflib

import pytest

from tests.golden.contents import GOLDEN, files

FILES = files()


def test_no_golden_file_is_left_over():
    there = {str(path.relative_to(GOLDEN)) for path in GOLDEN.glob("*/*") if path.suffix in (".txt", ".yaml", ".md")}
    assert there == set(FILES)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_nothing_has_moved(name):
    before, now = (GOLDEN / name).read_text(), FILES[name]()
    moved = difflib.unified_diff(before.splitlines(), now.splitlines(), "before", "now", lineterm="", n=0)
    assert before == now, "\n".join(list(moved)[:20])
