"""The picture of a terminal in the documents shows what the command prints."""

import re
from html import unescape

import pytest

from docs.pictures import REPORT, TERMINAL, terminal_svg


def texts(svg):
    return [unescape(text) for text in re.findall(r"<text[^>]*>([^<]*)</text>", svg)]


@pytest.mark.slow
def test_the_picture_of_a_terminal_is_what_the_command_prints_today():
    """Else: make renew ONLY=pictures."""
    shown = texts(TERMINAL.read_text("utf-8"))
    assert len(shown) > 40
    assert shown == texts(terminal_svg())


def test_no_picture_asks_a_server_for_a_font():
    assert not re.search(r"url\((?!#)|href|@import", TERMINAL.read_text("utf-8").replace('href="#', ""))
    assert REPORT.stat().st_size < 200_000
