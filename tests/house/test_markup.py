"""Texts are printed as they are; colours come from `style=` and `rich.text.Text`."""

import re

import pytest

from tests.house.test_floors import FILES, ROOT


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_file_writes_markup(path):
    found = re.search(r"\[/\]|\[/?(bold|dim|red|green|yellow)( \w+)?\]", path.read_text())
    assert found is None, f"{found} would be printed as it is: markup is off, see lra/terminal/console.py"
