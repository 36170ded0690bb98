"""Every measured number in the README comes from a committed record."""

from __future__ import annotations

import json
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_demos_row_is_its_record():
    (line,) = (ROOT / "runs/published/demo.jsonl").read_text().splitlines()
    record = json.loads(line)
    outcome, cost = record["outcome"], record["cost"]
    row = (
        f"| `{record['identity']['attention']}` | {outcome['steps']} | {100 * outcome['test_accuracy']:.2f} % |"
        f" 37.15 % | {100 * outcome['majority_rate']:.2f} % | {cost['train_seconds']:.0f} s |"
    )
    assert row in (ROOT / "README.md").read_text()
    assert "-dirty" not in record["provenance"]["git_commit"]


def test_files_that_the_readme_names_are_there():
    text = (ROOT / "README.md").read_text()
    for target in re.findall(r"\]\(([\w./]+)\)", text):
        assert (ROOT / target).exists(), target


def test_the_two_commands_at_the_top_are_targets_of_the_makefile():
    top = (ROOT / "README.md").read_text().split("```")[1]
    targets = re.findall(r"^make (\w+)", top, re.MULTILINE)
    assert targets == ["demo", "test"]
    makefile = (ROOT / "Makefile").read_text()
    for target in targets:
        assert re.search(rf"^{target}: setup", makefile, re.MULTILINE)
