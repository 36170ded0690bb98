"""The record of `lra bench gpu`, and the tables that are made of it."""

from __future__ import annotations

import pytest

from lra.bench.gpu_record import GPU_RECORD, begin_gpu_record, cell_of, gpu_record_path
from lra.bench.gpu_tables import lines_of_hours, step_table
from lra.bench.record_file import write_bench
from lra.types import UserError

SETTINGS = {
    "device": "a GPU", "accelerator": "gpu", "precision": "32-true", "size": "full", "words": [], "compiled": True,
    "steps": 20, "parity_steps": 20, "parity_examples": 8, "git_commit": None, "versions": {"torch": "2.13.0"},
}  # fmt: skip


def measured(seconds: float, hours: float, *, parts: int = 1):
    return {
        "batch_size": 32, "batch_parts": parts, "seconds": [seconds, 9.0, seconds], "harness_seconds": seconds,
        "eval_seconds": 0.1, "peak_bytes": 2**30, "flops": 10**9, "bytes": 10**9, "operators": 1000, "hours": hours,
    }  # fmt: skip


def record_of(tmp_path):
    record = begin_gpu_record(tmp_path / "none.json", SETTINGS)
    record["rates"] = {"flops_per_second": 1e12, "bytes_per_second": 1e12, "launch_seconds": 5e-6}
    cell = cell_of(record, "listops", "nystrom")
    cell.update(eager=measured(0.01, 2.0), compiled=measured(0.004, 1.0), together={"1": 100.0, "2": 150.0})
    cell["parity"] = {"difference": 3e-7, "rounding": 1e-7, "tolerance": 1e-6, "holds": True}
    other = cell_of(record, "listops", "full")
    other.update(eager=measured(0.02, 3.0, parts=4), left_out={"compiled": "out of memory"})
    other["parity"] = {"difference": None, "rounding": 1e-7, "tolerance": 1e-6, "holds": False}
    return record


def test_it_is_found_again_by_its_settings_and_goes_on(tmp_path):
    record = record_of(tmp_path)
    path = gpu_record_path(tmp_path / "bench", SETTINGS)
    write_bench(path, GPU_RECORD, record)
    assert begin_gpu_record(path, SETTINGS) == record
    others = begin_gpu_record(path, SETTINGS, again=[("listops", "nystrom")])["cells"]
    assert others == record["cells"][1:], "what is not asked for stays"
    assert gpu_record_path(tmp_path, {**SETTINGS, "precision": "bf16-mixed"}).name != path.name
    assert cell_of(record, "listops", "full") is record["cells"][1]


@pytest.mark.parametrize("text", ["{", "[]", '{"schema_version": 2}'])
def test_what_is_no_record_is_refused_in_one_line(tmp_path, text):
    (tmp_path / "gpu.json").write_text(text)
    with pytest.raises(UserError, match="measure again") as refused:
        begin_gpu_record(tmp_path / "gpu.json", SETTINGS)
    assert "\n" not in str(refused.value)


def test_a_number_that_cannot_be_is_refused(tmp_path):
    record = record_of(tmp_path)
    record["cells"][0]["eager"]["hours"] = -1.0
    with pytest.raises(UserError, match=r"eager\.hours"):
        write_bench(tmp_path / "gpu.json", GPU_RECORD, record)
    assert not (tmp_path / "gpu.json").exists()


def test_a_row_has_the_medians_the_ceiling_and_whether_the_losses_are_the_cpus(tmp_path):
    table = step_table(record_of(tmp_path))
    first, second = (dict(zip(table.columns, row, strict=True)) for row in table.rows)
    assert (first["eager"], first["compiled"], first["hours"]) == ("10.00", "4.00", "1.00")
    assert (first["ceiling"], first["bound by"]) == ("5.00", "launches"), "1,000 operators of 5 µs"
    assert first["parity"] == "3.0e-07 < 1.0e-06"
    assert (second["batch"], second["compiled"]) == ("4 × 8", "–")
    assert second["parity"] == "no number NOT < 1.0e-06"
    assert "left out: listops/full compiled: out of memory (force=true tries again)" in table.notes


def test_hours_are_of_all_seeds_and_of_several_processes(tmp_path):
    lines = lines_of_hours(record_of(tmp_path)["cells"], of=25, seeds=3)
    assert lines == [
        "eager: 2 of 25 cells × 3 seeds take 15.0 hours",
        "compiled: 1 of 25 cells × 3 seeds take 3.0 hours",
        "2 processes at a time: 1.50 times the steps of one (listops/nystrom), so about 8.0 hours:"
        " lra table run workers=2",
    ]
