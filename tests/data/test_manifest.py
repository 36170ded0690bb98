"""Manifests and arrays that are not what they should be: one line each, before anything is trained on them."""

import copy
import json
import os

import numpy as np
import pytest

from lra.data.manifest import MANIFEST, read_manifest
from lra.data.store import open_store, verify_store
from lra.types import UserError
from tests.data.test_store import SPEC, write

WRONG = (None, "x", "", -1, 0, 3, 1.5, float("nan"), True, [], [1], {}, {"x": 1}, "9" * 400, 10**30)
FREE = ("asked.settings", "source", "versions", "command")  # what the dataset has to say of itself


@pytest.fixture
def store(tmp_path):
    folder = tmp_path / "listops" / "full"
    write(folder)
    return folder


def places(node, path=()):
    """Where each field of a manifest stands."""
    for key, value in node.items():
        if ".".join((*path, key)) not in FREE:
            yield (*path, key)
            if isinstance(value, dict):
                yield from places(value, (*path, key))


def changed(manifest, path, value=None, *, drop=False):
    """A copy with the field at `path` replaced or dropped."""
    changed = copy.deepcopy(manifest)
    node = changed
    for key in path[:-1]:
        node = node[key]
    if drop:
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return changed


def opened(folder, manifest) -> str | None:
    """Write the manifest and open the store as a training does; the line that refuses it, None if nothing does."""
    (folder / MANIFEST).write_text(json.dumps(manifest))
    try:
        open_store(folder, SPEC)
        known = read_manifest(folder)
        counts = known["splits"]["test"]["label_counts"].values()
        assert 0 < max(counts) / sum(counts) <= 1
        assert {facts["sha256"] for facts in known["arrays"].values()}
        verify_store(folder)
    except UserError as error:
        return str(error)
    return None


@pytest.mark.slow
def test_each_field_missing_null_of_a_wrong_type_or_out_of_range_is_one_line(store):
    """Whatever stands there, there is a line or the store opens: nothing else may be raised."""
    manifest = json.loads((store / MANIFEST).read_text())
    fields = list(places(manifest))
    assert len(fields) > 80
    lines = 0
    for path in fields:
        value = manifest
        for key in path:
            value = value[key]
        for line in (opened(store, changed(manifest, path, drop=True)), opened(store, changed(manifest, path, None))):
            assert line is not None, path
        for wrong in WRONG:
            line = opened(store, changed(manifest, path, wrong))
            if line is None:
                assert type(wrong) is type(value) or path[0] == "seconds" or "quantiles" in path[-2], (path, wrong)
                continue
            lines += 1
            assert "\n" not in line
            assert len(line) < 1000, line
            assert "lra prepare task=listops size=full" in line
    assert lines > 800


@pytest.mark.parametrize("text", ["", "{", "[]", "null", "3", "[" * 100_000, '{"format_version": true}'])
def test_a_file_that_is_no_manifest_is_one_line(store, text):
    (store / MANIFEST).write_text(text)
    with pytest.raises(UserError, match="lra prepare task=listops size=full"):
        read_manifest(store)


def test_a_manifest_in_another_encoding_is_one_line(store):
    (store / MANIFEST).write_bytes(b"\xff\xfe{}")
    with pytest.raises(UserError) as refused:
        read_manifest(store)
    assert refused.value.kind == "no_json"


def test_a_named_pipe_in_an_arrays_place_does_not_hang(store):
    (store / "tokens.npy").unlink()
    os.mkfifo(store / "tokens.npy")
    with pytest.raises(UserError, match=r"tokens\.npy"):
        open_store(store, SPEC)


def spoil(folder, array, place, value):
    path = folder / f"{array}.npy"
    numbers = np.load(path)
    numbers.ravel()[place] = value
    np.save(path, numbers)


@pytest.mark.parametrize(
    "array, place, value, line",
    [
        ("offsets", 0, 1, "does not rise from 0"),
        ("offsets", -1, 10**6, "does not rise from 0"),
        ("offsets", 3, 10**9, "does not rise from 0"),
        ("offsets", 3, -4, "does not rise from 0"),
        ("offsets", 3, 22, "does not rise from 0|a sequence of"),
        ("train.sequences", 5, -1, "but only 0 to 33"),
        ("test.sequences", 0, 34, "but only 0 to 33"),
        ("train.labels", 0, 10, "but only 0 to 9"),
        ("dev.labels", 2, 255, "but only 0 to 9"),
    ],
)
def test_a_number_that_points_outside_is_found_on_opening(store, array, place, value, line):
    spoil(store, array, place, value)
    with pytest.raises(UserError, match=f"{line}.*lra prepare task=listops size=full force=true"):
        open_store(store, SPEC)


def test_a_store_that_calls_its_data_altered_is_of_unverified_data(store):
    path = store / MANIFEST
    path.write_text(json.dumps({**json.loads(path.read_text()), "origin": "altered"}))
    assert read_manifest(store)["origin"] == "unverified"
