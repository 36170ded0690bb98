"""A forged batch of CIFAR-10 is refused in a line; it takes neither memory nor time, and runs nothing."""

from __future__ import annotations

import resource
import struct
import subprocess
import sys
from functools import partial

import numpy as np
import pytest

from data_prep.image.pickled import read_batch
from tests.conftest import ROOT
from tests.data_prep.test_image import as_python2

ROOM = 1 << 30  # beyond that a child gets no memory: numpy and the imports take a third of it
READ = """
import sys, time
from data_prep.image.pickled import read_batch
from lra.types import UserError
content = sys.stdin.buffer.read()
begun = time.process_time()
try:
    read_batch(content, "x.tar.gz: batch")
except UserError as error:
    print(error)
assert time.process_time() - begun < 20
"""
WHOLE = as_python2({b"data": np.zeros((2, 3072), np.uint8), b"labels": [3, 9], b"filenames": [b"a", b"b"]})
START, LABELS = b"\x80\x02}(U\x06labels", b"U\x06labels"
NESTED = b"]r\x00\x00\x00\x00" + b"".join(
    b"](" + 10 * (b"j" + struct.pack("<I", level)) + b"er" + struct.pack("<I", level + 1) for level in range(40)
)
FORGED = {
    "number of a part": (b"\x80\x02]r\xff\xff\xff\x3f.", "numbers a part 1,073,741,823"),
    "number as text": (b"\x80\x02]p2000000000\n.", "has a PUT"),
    "length of bytes": (b"\x80\x04\x8e" + struct.pack("<Q", 1 << 40) + b".", "ValueError"),
    "length of a byte array": (b"\x80\x05\x96" + struct.pack("<Q", 1 << 40) + b".", "ValueError"),
    "length of a text": (b"\x80\x02T\xff\xff\xff\x7f.", "ValueError"),
    "length of a frame": (b"\x80\x04\x95" + struct.pack("<Q", 1 << 40) + b".", "has a FRAME"),
    "whole number as text": (b"\x80\x02L" + b"9" * 1000 + b"L\n.", "has a LONG"),
    "lists of lists": (b"\x80\x02" + NESTED + b".", "uses a part twice"),
    "tuple in tuple": (START + b")" + b"\x85" * 50_000 + b"s.", "more parts"),
    "empty lists": (b"\x80\x02(" + b"]" * 30_000_000 + b"l.", "more parts"),
    "a long name": (b"\x80\x02c" + b"a" * 1_000_000 + b"\nb\n.", "it names aaaa"),
    "labels in labels": (WHOLE.replace(b"K\x03", b"]"), "its labels are no list of numbers"),
    "a name of its own": (WHOLE.replace(b"numpy\ndtype", b"numpy\nload"), "it names numpy.load"),
}


@pytest.mark.parametrize("content, said", FORGED.values(), ids=FORGED)
def test_it_is_refused_in_a_line(content, said):
    done = subprocess.run(
        [sys.executable, "-c", READ],
        input=content,
        capture_output=True,
        cwd=ROOT,
        check=False,
        preexec_fn=partial(resource.setrlimit, resource.RLIMIT_AS, (ROOM, ROOM)),
        env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stderr
    (line,) = done.stdout.decode().splitlines()
    assert line.startswith("x.tar.gz: batch is ")
    assert said in line
    assert len(line) < 300


def test_a_whole_one_is_read_also_when_a_text_comes_twice():
    planes, labels = read_batch(WHOLE, "batch")
    assert planes.shape == (2, 3, 32, 32)
    assert labels.tolist() == [3, 9]
    name = b"one.png"
    batch = {b"data": np.zeros((2, 3072), np.uint8), b"labels": [3, 9], b"filenames": [name, name]}
    assert read_batch(as_python2(batch), "batch")[1].tolist() == [3, 9]


def test_a_batch_of_the_archives_size_is_read():
    names = [b"image_%05d.png" % number for number in range(10_000)]
    batch = {b"data": np.zeros((10_000, 3072), np.uint8), b"labels": [9] * 10_000, b"filenames": names}
    assert read_batch(as_python2(batch), "batch")[0].shape == (10_000, 3, 32, 32)
