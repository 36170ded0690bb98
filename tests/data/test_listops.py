"""The ListOps vocabulary is frozen; expressions encode, decode, evaluate and draw."""

import subprocess
import sys

import numpy as np
import pytest

from lra.data import listops
from lra.data.listops import TOKENS, ListopsCodec, decode, encode, evaluate
from lra.types import UserError

TEXT = "( ( ( ( [MAX 4 ) ( ( ( [MED 7 ) 2 ) 9 ) ] ) 0 ) ] )"


def test_the_vocabulary_is_the_written_one_in_every_process():
    code = f"from lra.data.listops import encode; print(encode({TEXT!r}).tolist())"
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, env={"PYTHONHASHSEED": seed}
        )
        assert done.stdout.strip() == "[2, 10, 3, 13, 8, 15, 5, 6, 5]"
    assert " ".join(TOKENS) == "<pad> [MIN [MAX [MED [SM ] 0 1 2 3 4 5 6 7 8 9"


def test_encode_and_decode_are_inverse():
    assert decode(encode(TEXT)) == "[MAX 4 [MED 7 2 9 ] 0 ]"
    assert np.array_equal(encode(decode(encode(TEXT))), encode(TEXT))
    assert encode(TEXT.encode()).dtype == np.uint8


@pytest.mark.parametrize("text", ["[MAX 4 x ]", "[SUM 1 2 ]", "[MAX 1 10 ]", "[MAX 1 a ]", "[MAXi 1 ]", "[MAX 12 3 ]"])
def test_an_unknown_token_is_named(text):
    with pytest.raises(UserError, match="no ListOps token"):
        encode(text)


@pytest.mark.parametrize(
    "text, value",
    [
        ("[MIN 3 1 2 ]", 1),
        ("[MAX 3 1 2 ]", 3),
        ("[MED 3 1 2 ]", 2),
        ("[MED 4 1 2 9 ]", 3),
        ("[MED 0 1 ]", 0),
        ("[SM 9 8 7 ]", 4),
        (TEXT, 7),
        ("5", 5),
    ],
)
def test_values(text, value):
    assert evaluate(encode(text)) == value


def test_a_tree_is_drawn_with_its_values(monkeypatch):
    assert ListopsCodec().draw([encode(TEXT)], {}) == ["MAX = 7   of 4 (MED 7) 0", "  MED = 7   of 7 2 9"]
    monkeypatch.setattr(listops, "MOST_LINES", 1)
    assert ListopsCodec().draw([encode(TEXT)], {}) == ["MAX = 7   of 4 (MED 7) 0", "… 1 more lines"]
