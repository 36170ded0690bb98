"""Do two commits train alike? `python -m tests.compare_commits BEFORE AFTER [task=listops,text …]`.

Each commit is checked out beside the repository, and `lra train size=tiny` runs from both: every attention on every
task, 20 steps, with dropout. The logged losses, dev and test results must be equal to the last bit. Data are made once,
by the first commit. Exit code 1 if a number differs. It is for moves that must change nothing.
"""

from __future__ import annotations

import csv
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TASKS = "listops,text,retrieval,image,pathfinder"
ATTENTIONS = "nystrom,full,linformer,performer,reformer,none"
WORDS = ("size=tiny", "logger=csv", "trainer.threads=1", "callbacks.log_every_steps=1", "run_group=compared")
NUMBERS = ("train/loss", "dev/loss", "dev/accuracy", "test/loss", "test/accuracy")


def train(tree: Path, place: Path, task: str, attention: str) -> list[dict[str, str]]:
    """Train one cell from a checked-out tree; returns the numbers of its curve file."""
    env = {
        **os.environ,
        "PYTHONPATH": str(tree),
        "LRA_DATA_DIR": str(place / "data"),
        "LRA_RUNS_DIR": str(place / tree.name),
    }
    command = [sys.executable, "-m", "lra", "train", *WORDS, f"task={task}", f"attention={attention}"]
    done = subprocess.run(command, cwd=tree, env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{tree.name}: {' '.join(command[2:])}\n{done.stderr}")
    (curves,) = (place / tree.name).glob(f"compared/{task}/{attention}/*/seed0/metrics.csv")
    with curves.open(newline="") as lines:
        return [{name: row[name] for name in NUMBERS if row.get(name)} for row in csv.DictReader(lines)]


def main(words: list[str]) -> int:
    """Compare; returns the exit code."""
    commits = [word for word in words if "=" not in word]
    chosen = dict(word.split("=", 1) for word in words if "=" in word)
    if len(commits) != 2 or chosen.keys() - {"task", "attention"}:
        print(__doc__)
        return 2
    different = 0
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        trees = []
        for name, commit in zip(("before", "after"), commits, strict=True):
            trees.append(place / "trees" / name)
            subprocess.run(["git", "worktree", "add", "--quiet", "--detach", trees[-1], commit], cwd=ROOT, check=True)
        try:
            for task in chosen.get("task", TASKS).split(","):
                for attention in chosen.get("attention", ATTENTIONS).split(","):
                    before, after = (train(tree, place, task, attention) for tree in trees)
                    numbers = sum(map(len, before))
                    same = before == after
                    different += not same
                    print(f"{task}/{attention}: {numbers} numbers {'equal' if same else 'DIFFER'}", flush=True)
        finally:
            for tree in trees:
                subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
