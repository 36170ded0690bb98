"""Every published number can be traced to code: the commit of its record is in the history."""

import re
import subprocess
from functools import cache

import pytest

from docs.blocks.published import LOST, PUBLISHED, by_cell
from tests.house.test_floors import ROOT, assert_none, place

RECORDS = sorted(path for path in PUBLISHED.iterdir() if path.suffix in (".json", ".jsonl"))
COMMIT = re.compile(r'"git_commit": *"([^"]*)"')


def git(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", "-C", str(ROOT), *words], capture_output=True, text=True, check=False)


@cache
def in_history(commit: str) -> bool:
    return git("merge-base", "--is-ancestor", commit, "HEAD").returncode == 0


@pytest.mark.skipif(
    git("rev-parse", "--is-shallow-repository").stdout.strip() != "false", reason="the whole history is not here"
)
def test_the_commit_of_a_record_is_in_the_history():
    offenders = []
    for path in RECORDS:
        for number, line in enumerate(path.read_text().splitlines(), 1):
            for commit in COMMIT.findall(line):
                said_to_be_lost = path.name in LOST.get(commit, ())
                if in_history(commit) == said_to_be_lost:
                    what = "is in the history, but said to be lost" if said_to_be_lost else "is not in the history"
                    offenders.append(f"{place(path, number)} {commit} {what}")
    assert_none(offenders)


def test_that_a_full_runs_commit_is_lost_is_said():
    lost = {cell for cell, record in by_cell("listops").items() if record["provenance"]["git_commit"] in LOST}
    text = " ".join((ROOT / "docs/results_full.md").read_text().split())
    assert lost == {("listops", "full", 0)}
    assert "the commit of full attention's seed 0 is missing from the repository's history" in text


def test_what_was_trained_again_for_a_lost_commit_is_said():
    table, earlier = by_cell("short_table"), by_cell("short_earlier")
    lost, replaced = (
        [cell for cell, record in of.items() if record["provenance"]["git_commit"] in LOST] for of in (table, earlier)
    )
    text = " ".join((ROOT / "docs/results_short_table.md").read_text().split())
    assert {(task, seed) for task, _, seed in lost} == {
        (task, seed) for task in ("image", "pathfinder") for seed in (1, 2)
    }
    assert len({attention for _, attention, _ in lost}) == 9
    assert f"{len(lost)} records name a commit that is missing from the repository's history: seeds 1 and 2" in text
    before, now = ([of[cell]["outcome"]["test_accuracy"] for cell in replaced] for of in (earlier, table))
    apart = [100 * abs(one - other) for one, other in zip(before, now, strict=True)]
    assert f"{len(replaced)} records of seed 0 did too" in text
    assert f"Their accuracies changed by at most {max(apart):.2f} points." in text
