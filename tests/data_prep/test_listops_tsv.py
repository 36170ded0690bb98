"""The benchmark's own ListOps files: read, and refused with file and line."""

import pytest

from data_prep.listops import tsv
from lra.types import UserError

GOOD = "( ( ( [MAX 4 ) 7 ) ] )\t7"


def write(tmp_path, *rows: str, header: str = "Source\tTarget"):
    path = tmp_path / "basic_train.tsv"
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


def read(path):
    return list(tsv.read(path, max_length=2000, size="full"))


def test_rows_are_read(tmp_path):
    assert read(write(tmp_path, GOOD)) == [("( ( ( [MAX 4 ) 7 ) ] )", 7)]


@pytest.mark.parametrize(
    "row, word",
    [
        (GOOD + "\tx", "3 "),
        ("[MAX 4 7 ]", "1 "),
        ("[MAX 4 7 ]\t10", "'10'"),
        ("[MAX 4 7 ]\t-1", "'-1'"),
        ("[MAX 4 q ]\t4", "'q'"),
    ],
)
def test_a_wrong_row_is_named(tmp_path, row, word):
    with pytest.raises(UserError, match=rf"basic_train\.tsv, line 3: .*{word}"):
        read(write(tmp_path, GOOD, row))


def test_a_wrong_header_is_named(tmp_path):
    with pytest.raises(UserError, match="line 1: the header"):
        read(write(tmp_path, GOOD, header="a\tb"))


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(UserError, match="has no basic_train"):
        tsv.find(tmp_path, tmp_path, lambda done, total: None)
