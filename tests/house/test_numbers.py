"""The blocks of the documents are what today's records, configurations and commands give."""

from collections import Counter
from itertools import zip_longest

import pytest

from docs.blocks.documents import BLOCKS, DOCUMENTS, block, names_in, pictures_of_records, with_blocks
from docs.blocks.published import PUBLISHED
from tests.house.test_floors import assert_none, place
from tests.renew import stale


def test_every_block_is_current():
    offenders = []
    for document in DOCUMENTS:
        text = document.read_text()
        names_in(text)
        current = with_blocks(text)
        if text != current:
            pairs = enumerate(zip_longest(text.split("\n"), current.split("\n")), 1)
            number, (line, right) = next(pair for pair in pairs if pair[1][0] != pair[1][1])
            offenders.append(f"{place(document, number)} has {line!r}, and now it is {right!r}; {stale('numbers')}")
    assert_none(offenders)


def test_each_block_stands_in_one_place():
    places = Counter(name for document in DOCUMENTS for name in names_in(document.read_text()))
    assert places == dict.fromkeys(BLOCKS, 1)


def test_a_changed_block_is_written_anew_and_what_is_outside_stays():
    (document,) = (path for path in DOCUMENTS if path.name == "sequences.md")
    text = document.read_text()
    changed = text.replace(block("time-series"), "| 1 |\n")
    assert changed != text
    assert with_blocks(changed) == text
    with pytest.raises(KeyError, match="unknown"):
        with_blocks(text.replace("numbers: time-series", "numbers: unknown"))
    with pytest.raises(AssertionError, match="no end"):
        names_in(text.replace("<!-- end -->", ""))


def test_pictures_are_there_and_named_after_a_published_file():
    shown = {picture for document in DOCUMENTS for picture in pictures_of_records(document)}
    assert len(shown) > 4
    stems = [path.stem for path in PUBLISHED.iterdir() if path.suffix != ".png"]
    for picture in shown:
        assert picture.exists()
        assert any(picture.stem == stem or picture.stem.startswith(f"{stem}-") for stem in stems), picture
