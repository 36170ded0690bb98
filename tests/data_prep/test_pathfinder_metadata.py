"""Pathfinder's labels as `np.save` writes them: the same as from the text of the benchmark's generator."""

import io
import pickle
from pathlib import Path

import numpy as np
import pytest

from data_prep.archives import write_tar
from data_prep.pathfinder.metadata import read_metadata
from lra.types import UserError
from tests.data_prep.test_pathfinder_release import HARD, release

ROWS = [["imgs/1", f"sample_{k}.png", k, k % 2, 1.8, 14, 4, 2, 0.5] for k in range(4)]
TEXT = "\n".join(" ".join(map(str, row)) for row in ROWS).encode()
WANTED = [(f"imgs/1/sample_{k}.png", k % 2) for k in range(4)]


def saved(array: object) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def in_numpys_types() -> np.ndarray:
    rows = np.empty((4, 4), object)
    for k, row in enumerate(ROWS):
        rows[k] = [np.str_(row[0]), np.str_(row[1]), np.int64(k), np.int64(row[3])]
    return rows


FORMS = {
    "text": TEXT,
    "text with a byte order mark and Windows' line ends": b"\xef\xbb\xbf" + TEXT.replace(b"\n", b"\r\n"),
    "a text array": saved(np.array(ROWS)),
    "a text array in columns": saved(np.asfortranarray(np.array(ROWS))),
    "a text array of the other byte order": saved(np.array(ROWS).astype(np.array(ROWS).dtype.newbyteorder())),
    "a byte array": saved(np.array([[str(cell).encode() for cell in row] for row in ROWS])),
    "an object array": saved(np.array(ROWS, object)),
    "an object array in columns": saved(np.asfortranarray(np.array(ROWS, object))),
    "an object array of numpy's numbers": saved(in_numpys_types()),
    "an object array of lists": saved(np.array([[row] for row in map(tuple, ROWS)] + [[None]], object)[:4, 0]),
    "an array of lines": saved(np.array(TEXT.decode().splitlines())),
    "labels with a point": saved(np.array([[*row[:3], float(row[3])] for row in ROWS])),
}


@pytest.mark.parametrize("content", FORMS.values(), ids=FORMS)
def test_every_form_has_the_same_names_and_labels(content):
    assert [(name, label) for _, name, label in read_metadata(content, "x")] == WANTED


class Bomb:
    """Runs a command when it is unpickled the usual way."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


WHOLE = saved(np.array(ROWS))
WRONG = {
    "cut off": WHOLE[:-3],
    "a header alone": WHOLE[:20],
    "more than its shape": WHOLE + b"x",
    "a shape of many": WHOLE.replace(b"(4, 9)", b"(4, 9999999999)"),
    "three axes": saved(np.array([ROWS])),
    "numbers": saved(np.ones((4, 4))),
    "another label": saved(np.array([[*row[:3], 2] for row in ROWS])),
    "too few columns": saved(np.array([row[:3] for row in ROWS])),
    "an object array that is cut off": saved(np.array(ROWS, object))[:-5],
    "an object array with too few objects": saved(np.array(ROWS, object)).replace(b"(4, 9)", b"(5, 9)"),
    "no label in an object": saved(np.array([[*row[:3], None] for row in ROWS], object)),
}


@pytest.mark.parametrize("content", WRONG.values(), ids=WRONG)
def test_a_damaged_one_is_one_line(content):
    with pytest.raises(UserError, match=r"^x") as refused:
        list(read_metadata(content, "x"))
    assert "\n" not in str(refused.value)
    assert len(str(refused.value)) < 400


def test_an_object_array_runs_nothing(tmp_path):
    rows = np.array([["imgs/1", "sample_0.png", 0, Bomb(tmp_path / "ran")]], object)
    with pytest.raises(UserError, match=r"^x"):
        list(read_metadata(saved(rows), "x"))
    assert not (tmp_path / "ran").exists()
    np.load(io.BytesIO(saved(rows)), allow_pickle=True)
    assert (tmp_path / "ran").exists(), "the usual way runs it"


def test_a_pickle_in_place_of_an_array_is_refused():
    with pytest.raises(UserError, match=r"^x"):
        list(read_metadata(pickle.dumps(ROWS), "x"))


@pytest.mark.slow
@pytest.mark.parametrize("dtype", ["U", object])
def test_images_get_the_same_labels(prepare, tmp_path, dtype):
    files = release()
    wanted, _ = prepare("pathfinder", f"source={write_tar(tmp_path / 'x.gz', files)}", "verify=false")
    for number in (1, 2, 10):
        name = f"{HARD}/metadata/{number}.npy"
        rows = [line.split() for line in files[name].decode().splitlines()]
        files[name] = saved(np.array(rows, dtype))
    again, _ = prepare("pathfinder", f"source={write_tar(tmp_path / 'y.gz', files)}", "verify=false", "force=true")
    assert again["arrays"] == wanted["arrays"]
