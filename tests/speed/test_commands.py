"""What commands over records cost: beside `import torch`, and with thousands of records.

Seconds are those of the processor, which other work on the machine changes less than those of the clock.
"""

import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT
from tests.speed.many_records import write_records

pytestmark = pytest.mark.slow
SHORT = ("size=short", "run_group=short_table.jsonl")
LRA = ("-m", "lra")


def cpu_seconds(*words: str) -> float:
    """Processor seconds of a Python process."""
    with subprocess.Popen([sys.executable, *words], stdout=subprocess.DEVNULL, cwd=ROOT) as process:
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode == 0
    return usage.ru_utime + usage.ru_stime


def least(*words: str, turns: int = 3) -> float:
    return min(cpu_seconds(*words) for _ in range(turns))


@pytest.fixture
def published(home, monkeypatch):
    """Runs in this folder, with the published short table and its figures elsewhere."""
    runs = home / "published_runs"
    runs.mkdir(parents=True)
    (runs / "short_table.jsonl").write_text((ROOT / "runs/published/short_table.jsonl").read_text())
    monkeypatch.setenv("LRA_RUNS_DIR", str(runs))
    return runs


@pytest.mark.parametrize(
    "words, most",
    [
        (("show", "tasks"), 1.0),
        (("show", "attentions"), 1.0),
        (("show", "protocol"), 1.0),
        (("show", "runs", "run_group=short_table.jsonl"), 1.0),
        (("table", "show", *SHORT), 1.0),
        (("compare", "show", "task=listops", *SHORT), 2.0),
    ],
)
def test_a_command_without_training_takes_no_longer_than_an_import_of_torch(words, most, published, note):
    ratio = least(*LRA, *words) / least("-c", "import torch")
    note(f"lra {' '.join(words[:2])} over import torch", ratio=ratio)
    assert ratio <= most


@pytest.fixture
def many(home, monkeypatch):
    """Write records into one run group; the function returns the group's name."""
    monkeypatch.setenv("LRA_RUNS_DIR", str(home))

    def write(count: int) -> str:
        return write_records(home / f"many{count}.jsonl", count).name

    return write


@pytest.mark.parametrize(
    "verb, count, most_seconds",
    [
        (("table", "show", "size=short"), 5000, 5),
        (("compare", "show", "size=short"), 5000, 5),
        (("show", "runs"), 5000, 5),
        (("report", "samples=0"), 1000, 15),
    ],
)
def test_thousands_of_records_take_seconds_and_no_more_than_in_proportion(verb, count, most_seconds, many, note):
    fewer, all_ = many(count // 5), many(count)
    small, whole = (least(*LRA, *verb, f"run_group={group}", turns=2) for group in (fewer, all_))
    note(f"lra {' '.join(verb[:2])} of {count} records", seconds=whole, seconds_of_a_fifth=small)
    assert whole <= most_seconds
    assert whole <= 1.2 * 5 * small
