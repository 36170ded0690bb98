"""Texts are printed as they are; colours come from `style=` and `rich.text.Text`."""

import re

from tests.house.test_floors import FILES, assert_none, line_at, place

MARKUP = re.compile(r"\[/\]|\[/?(bold|dim|red|green|yellow)( \w+)?\]")


def test_no_file_writes_markup():
    texts = [(path, path.read_text()) for path in FILES]
    assert_none(
        f"{place(path, line_at(text, found.start()))} {found[0]} would be printed as it is: markup is off,"
        " see lra/terminal/console.py"
        for path, text in texts
        for found in MARKUP.finditer(text)
    )
