"""The record of a bench on disk: written, read again, refused when it is not one."""

import json

import pytest

from lra.tools.bench.plot import plot_bench
from lra.tools.bench.record import begin_record, lengths_of, record_path, write_bench
from lra.tools.bench.summary import FUSED, MATH
from lra.types import UserError
from tests.tools.bench.records import bench_record

RECORD = bench_record({FUSED: {256: 1.0, 512: 4.0}, MATH: {256: 2.0, 512: "out of memory"}}, backward=True)


def test_a_record_is_found_again_by_its_settings(tmp_path):
    path = record_path(tmp_path / "bench", RECORD["settings"])
    write_bench(path, RECORD)
    assert begin_record(path, RECORD["settings"]) == RECORD
    others = begin_record(path, RECORD["settings"], again=[512])
    assert (others["whole"], lengths_of(others)) == ([256], [256]), "what is not asked for stays"
    assert record_path(tmp_path, {**RECORD["settings"], "batch": 2}).name != path.name
    assert [file.name for file in path.parent.iterdir()] == [path.name], "nothing unfinished is left"


@pytest.mark.parametrize(
    "content, said",
    [
        ("{", "attention-00000000.json"),
        (json.dumps({**RECORD, "schema_version": 2}), "schema_version"),
        (json.dumps({**RECORD, "cells": [{"method": "x", "length": 0}]}), "length=0"),
        (json.dumps(RECORD).replace("256", '"256"'), "256"),
    ],
)
def test_what_is_no_record_is_refused_in_one_line(tmp_path, content, said):
    path = tmp_path / "attention-00000000.json"
    path.write_text(content)
    with pytest.raises(UserError, match="attention-00000000") as refused:
        begin_record(path, RECORD["settings"])
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.slow
@pytest.mark.parametrize("suffix, start", [(".png", b"\x89PNG"), (".svg", b"<?xml")])
def test_the_figure_is_drawn(tmp_path, suffix, start):
    assert plot_bench(RECORD, tmp_path / f"figure{suffix}").path.read_bytes().startswith(start)
