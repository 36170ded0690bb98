"""ListOps: the vocabulary, and functions that encode, decode, evaluate and draw expressions.

Source: Nangia and Bowman 2018; lengths and vocabulary are those of Long Range Arena (Tay et al. 2021).
"""

from collections.abc import Mapping
from statistics import median

import numpy as np

from lra.data.codec import Codec, first_lines
from lra.types import UserError

VERSION = "1.0.0"  # version of the dataset; a store of another version is refused

# Id k is TOKENS[k]; 0 is padding. The order is fixed here: the original code takes it from a set, so that ids change
# from process to process, and a restored model scores at chance.
TOKENS = ("<pad>", "[MIN", "[MAX", "[MED", "[SM", "]", "0", "1", "2", "3", "4", "5", "6", "7", "8", "9")
MIN, MAX, MED, SM, END, ZERO = 1, 2, 3, 4, 5, 6

# Encoding shortens each operator to one lower-case letter; then each token is one byte, and a table maps bytes to ids.
_SHORT = ((b"[MIN", b"i"), (b"[MAX", b"a"), (b"[MED", b"e"), (b"[SM", b"s"))
_UNKNOWN = 255
MOST_LINES = 24  # largest number of lines of a drawn expression
_TABLE = bytearray([_UNKNOWN] * 256)
for _id, _byte in enumerate(b"iaes]0123456789", start=1):
    _TABLE[_byte] = _id


def encode(source: str | bytes) -> np.ndarray:
    """Convert an expression, with spaces between its tokens, to ids (uint8, 1..15); `(` and `)` are dropped.

    Raises:
        UserError: for a token outside the vocabulary.
    """
    raw = source.encode() if isinstance(source, str) else source
    short = raw
    for word, letter in _SHORT:
        short = short.replace(word, letter)
    words = len(raw.split()) - raw.count(b"(") - raw.count(b")")
    ids = np.frombuffer(short.translate(_TABLE, b" \t()"), np.uint8)
    letters = sum(raw.count(letter) for _, letter in _SHORT)  # the text itself must not contain the short forms
    if len(ids) != words or letters or _UNKNOWN in ids:
        known = set(TOKENS[1:]) | {"(", ")"}
        wrong = next((word for word in raw.decode(errors="replace").split() if word not in known), "tokens not apart")
        raise UserError(f"{wrong!r} is no ListOps token; known are {' '.join(TOKENS[1:])} and parentheses")
    return ids


def decode(ids: np.ndarray) -> str:
    """Convert ids to text: the tokens with spaces between them, without parentheses."""
    return " ".join([TOKENS[i] for i in ids.tolist()])


def evaluate(ids: np.ndarray) -> int:
    """Compute the value (0..9) of an expression; MED is the integer part of the median, SM the sum modulo 10."""
    return _tree(ids)[0]


class ListopsCodec(Codec):
    """Shows an expression as a tree."""

    version = VERSION

    def draw(self, sequences: list[np.ndarray], facts: Mapping[str, object]) -> list[str]:
        """Draw the tree: one line per operator, indented by depth, with its value and its digits.

        Without closing brackets (`protocol.listops_brackets=dropped`) there is no tree, and the tokens are shown.
        """
        if END not in sequences[0]:
            return [decode(sequences[0])]
        return first_lines(_tree(sequences[0])[1], MOST_LINES)


def _tree(ids: np.ndarray) -> tuple[int, list[str]]:
    """Compute the value and the drawn lines of a well-formed expression."""
    stack: list[tuple[int, int, list[int], list[str]]] = []  # operator, its line, values so far, their texts
    lines: list[str] = []
    value = -1
    for token in ids.tolist():
        if token < END:
            stack.append((token, len(lines), [], []))
            lines.append("")
            continue
        if token == END:
            operator, line, values, words = stack.pop()
            value = _apply(operator, values)
            name = TOKENS[operator][1:]
            lines[line] = f"{'  ' * len(stack)}{name} = {value}   of {' '.join(words)}"
            word = f"({name} {value})"
        else:
            value = token - ZERO
            word = str(value)
        if stack:
            stack[-1][2].append(value)
            stack[-1][3].append(word)
    return value, lines or [str(value)]


def _apply(operator: int, values: list[int]) -> int:
    if operator == MED:
        return int(median(values))
    if operator == SM:
        return sum(values) % 10
    return min(values) if operator == MIN else max(values)
