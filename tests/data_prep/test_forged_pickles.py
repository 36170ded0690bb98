"""A forged or damaged pickle is refused in a line; it takes neither memory nor time, and runs nothing."""

import contextlib
import io
import json
import pickle
import resource
import struct
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from data_prep.image.source import read_batch
from data_prep.unpickle import elements, unpickle
from lra.types import UserError
from tests.conftest import ROOT
from tests.data_prep.test_image import as_python2

ROOM = 1 << 30  # beyond that a child gets no memory: numpy and the imports take a third of it
READ = """
import io, json, pickle, sys, time
from data_prep.image.source import read_batch
from data_prep.unpickle import elements
from lra.types import UserError
lines = {}
for name, content in pickle.load(sys.stdin.buffer).items():
    lines[name] = []
    for read in (lambda: list(elements(io.BytesIO(content), "x")), lambda: read_batch(content, "x")):
        begun = time.process_time()
        try:
            read()
        except UserError as error:
            lines[name].append(str(error))
        assert time.process_time() - begun < 20, name
print(json.dumps(lines))
"""
WHOLE = as_python2({b"data": np.zeros((2, 3072), np.uint8), b"labels": [3, 9], b"filenames": [b"a", b"b"]})
ROWS = [{"input_ids_0": np.arange(5, dtype=np.int32), "label": np.int32(label)} for label in (3, 4)]
NEW = pickle.dumps(ROWS, protocol=4)
SHAPE, DTYPE = b"K\x05\x85\x94", b"\x8c\x02i4"
NESTED = b"]r\x00\x00\x00\x00" + b"".join(
    b"](" + 10 * (b"j" + struct.pack("<I", level)) + b"er" + struct.pack("<I", level + 1) for level in range(40)
)


def changed(old: bytes, new: bytes) -> bytes:
    assert old in NEW
    return NEW.replace(old, new)


def runs(code: bytes) -> bytes:
    return b"\x80\x02" + code + b"."


FORGED = {
    # what would run code
    "a call of os.system": runs(b"cos\nsystem\n(X\x09\x00\x00\x00touch RANtR"),
    "the same in protocol 4": b"\x80\x04\x8c\x02os\x8c\x06system\x93\x8c\x09touch RAN\x85R.",
    "an instance": runs(b"(X\x09\x00\x00\x00touch RANios\nsystem\n"),
    "an object": runs(b"(cos\nsystem\nX\x09\x00\x00\x00touch RANo"),
    "a new object": runs(b"cbuiltins\nobject\n)\x81"),
    "an extension": runs(b"\x82\x01"),
    "a persistent number": runs(b"Px\n"),
    "a name within a name": b"\x80\x04\x8c\x05numpy\x8c\x0flib.npyio.NpzFile\x93.",
    "a name of its own": WHOLE.replace(b"numpy\ndtype", b"numpy\nload"),
    "eval in the place of dtype": changed(b"\x8c\x05dtype", b"\x8c\x04eval"),
    "an array of objects": changed(DTYPE, b"\x8c\x02O8"),
    "an array of records": changed(DTYPE, b"\x8c\x05i4,i4"),
    "a call of a class": runs(b"cnumpy\nndarray\n(K\x05tR"),
    "a call of a text": runs(b"X\x02\x00\x00\x00os)R"),
    "a buffer from outside": b"\x80\x05\x97.",
    # what would take memory or time
    "number as text": b"\x80\x02]p2000000000\n.",
    "length of bytes": b"\x80\x04\x8e" + struct.pack("<Q", 1 << 40) + b".",
    "length of a byte array": b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b".",
    "length of a text": b"\x80\x02T\xff\xff\xff\x7f.",
    "a length below zero": b"\x80\x02T\xff\xff\xff\xff.",
    "a frame without content": b"\x80\x04\x95" + struct.pack("<Q", 1 << 40),
    "whole number as text": b"\x80\x02L" + b"9" * 1000 + b"L\n.",
    "lists of lists": runs(NESTED),
    "tuple in tuple": runs(b")" + b"\x85" * 200_000),
    "tuple in tuple as a shape": changed(SHAPE, b")" + b"\x85" * 50_000),
    "tuple in tuple as a key": runs(b"})" + b"\x85" * 50_000 + b"K\x01s"),
    "empty lists": runs(b"(" + b"]" * 30_000_000 + b"l"),
    "a list in itself": runs(b"]q\x00h\x00a"),
    "numbers for ever": b"\x80\x02](" + b"K\x01" * 1_000_000,
    "a long name": b"\x80\x02c" + b"a" * 1_000_000 + b"\nb\n.",
    "a shape of many": changed(SHAPE, b"J\xff\xff\xff\x7f\x85\x94"),
    "a shape below zero": changed(SHAPE, b"J\xff\xff\xff\xff\x85\x94"),
    # what is damaged
    "nothing": b"",
    "the half": NEW[: len(NEW) // 2],
    "without its end": NEW[:-1],
    "more after its end": NEW + b"x",
    "two in one": NEW + NEW,
    "no pickle": b"PK\x03\x04" + b"x" * 100,
    "a text": b"label,tokens\n1,2\n",
    "a mark that is open": runs(b"("),
    "no parts to take": runs(b"t"),
    "a part of those before the mark": runs(b"](K\x01\x86e"),
    "an array that has no numbers": runs(b"]cnumpy.core.multiarray\n_reconstruct\n(tRa"),
    "too few numbers": changed(SHAPE, b"K\x06\x85\x94"),
    "a state that is none": changed(b"t\x94b", b"t\x940]b"),
    "an order of bytes that is none": changed(b"\x8c\x01<", b"\x8c\x01\n"),
    "no text": b"\x80\x04\x8c\x01\xff.",
    "a dictionary for a list": pickle.dumps({"a": 1}, protocol=4),
    "a number": pickle.dumps(7, protocol=4),
    "an older protocol": pickle.dumps(ROWS, protocol=0),
    "a set": pickle.dumps([{1, 2}], protocol=4),
}


@pytest.mark.slow
def test_each_is_refused_in_a_line(tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", READ],
        input=pickle.dumps(FORGED),
        capture_output=True,
        cwd=tmp_path,
        check=False,
        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_AS, (ROOM, ROOM)),
        env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    lines = json.loads(done.stdout)
    assert len(lines) == len(FORGED) > 40
    for name, said in lines.items():
        assert len(said) == 2, f"{name} is read: {said}"
        for line in said:
            assert line.startswith("x is refused: "), name
            assert "\n" not in line, name
            assert len(line) < 300, name
    assert not list(tmp_path.iterdir()), "something ran"


@pytest.mark.parametrize("at", range(0, len(NEW), 7))
def test_a_changed_byte_is_refused_or_changes_a_value(at):
    content = NEW[:at] + bytes([NEW[at] ^ 0xFF]) + NEW[at + 1 :]
    with contextlib.suppress(UserError):
        assert all(isinstance(row, dict) for row in elements(io.BytesIO(content), "x"))


@pytest.mark.parametrize("protocol", [2, 3, 4, 5])
def test_what_pickle_writes_is_read(protocol):
    rows = [
        {"a": np.arange(6, dtype=kind).reshape(2, 3), "b": kind(7), "c": [1, -1, 1 << 40, 2.5, None, True, "é", b"x"]}
        for kind in (np.int8, np.uint8, np.int32, np.int64, np.float32, np.float64)
    ]
    content = pickle.dumps(rows, protocol=protocol)
    for read in (list(elements(io.BytesIO(content), "x")), unpickle(io.BytesIO(content), "x")):
        assert [row["c"] for row in read] == [row["c"] for row in rows]
        assert [row["b"] for row in read] == [7] * len(rows)
        for row, wanted in zip(read, rows, strict=True):
            assert row["a"].dtype == wanted["a"].dtype
            assert np.array_equal(row["a"], wanted["a"])


def test_numbers_of_the_other_byte_order_keep_their_value():
    ids = np.array([1, 256], ">i4")
    (read,) = elements(io.BytesIO(pickle.dumps([ids])), "x")
    assert read.tolist() == [1, 256]


def test_elements_come_before_the_file_ends():
    content = pickle.dumps([{"a": number} for number in range(2500)], protocol=4)
    file = io.BytesIO(content)
    next(elements(file, "x"))
    assert file.tell() < len(content) // 2


def test_a_whole_one_is_read_also_when_a_text_comes_twice():
    planes, labels = read_batch(WHOLE, "batch")
    assert planes.shape == (2, 3, 32, 32)
    assert labels.tolist() == [3, 9]
    name = b"one.png"
    batch = {b"data": np.zeros((2, 3072), np.uint8), b"labels": [3, 9], b"filenames": [name, name]}
    assert read_batch(as_python2(batch), "batch")[1].tolist() == [3, 9]


def test_labels_in_labels_are_refused():
    with pytest.raises(UserError) as refused:
        read_batch(WHOLE.replace(b"K\x03", b"]"), "x")
    assert (refused.value.kind, refused.value.value) == ("wrong_label", [])


def test_a_batch_of_the_archives_size_is_read():
    names = [b"image_%05d.png" % number for number in range(10_000)]
    batch = {b"data": np.zeros((10_000, 3072), np.uint8), b"labels": [9] * 10_000, b"filenames": names}
    assert read_batch(as_python2(batch), "batch")[0].shape == (10_000, 3, 32, 32)
