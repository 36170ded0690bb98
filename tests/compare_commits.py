"""Do two commits train alike? `python -m tests.compare_commits [--speed] BEFORE AFTER [task=listops,text …]`.

Each commit is checked out beside the repository, and `lra train size=tiny` runs from both: every attention on every
task, 20 steps, with dropout. The logged losses, dev and test results must be equal to the last bit. Data are made once,
by the first commit. Exit code 1 if a number differs. It is for moves that must change nothing.

`--speed`: is the second slower? Bare training steps of both in turns, at the paper's shapes and real lengths, on this
machine's CPU; no data are needed. Median and quartiles of the ratio after / before over the turns (`turns=20`). Exit
code 1 if a lower quartile is above 1.01.
"""

import csv
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.speed.commits import ratio_of, steps_in_turns

ROOT = Path(__file__).resolve().parents[1]
TASKS = "listops,text,retrieval,image,pathfinder"
ATTENTIONS = "nystrom,full,linformer,performer,reformer,none"
WORDS = ("size=tiny", "logger=csv", "trainer.threads=1", "callbacks.log_every_steps=1", "run_group=compared")
TURNS = 20
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


def trains_alike(trees: list[Path], place: Path, task: str, attention: str) -> bool:
    """Train one cell from both trees and print whether every number is equal."""
    before, after = (train(tree, place, task, attention) for tree in trees)
    print(f"{task}/{attention}: {sum(map(len, before))} numbers {'equal' if before == after else 'DIFFER'}", flush=True)
    return before == after


def is_no_slower(trees: list[Path], task: str, attention: str, turns: int) -> bool:
    """Time steps of one cell from both trees and print the ratio."""
    before, after = steps_in_turns(trees, (f"task={task}", f"attention={attention}"), turns)
    ratio = ratio_of(before, after)
    seconds = " and ".join(f"{statistics.median(side):.3f} s" for side in (before, after))
    word = "SLOWER" if ratio.is_slower else "no slower"
    print(f"{task}/{attention}: {seconds} a step, after / before {ratio}: {word}", flush=True)
    return not ratio.is_slower


def main(words: list[str]) -> int:
    """Compare; returns the exit code."""
    commits = [word for word in words if "=" not in word and word != "--speed"]
    chosen = dict(word.split("=", 1) for word in words if "=" in word)
    if len(commits) != 2 or chosen.keys() - {"task", "attention", "turns"}:
        print(__doc__)
        return 2
    passed = True
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        trees = []
        for name, commit in zip(("before", "after"), commits, strict=True):
            trees.append(place / "trees" / name)
            subprocess.run(["git", "worktree", "add", "--quiet", "--detach", trees[-1], commit], cwd=ROOT, check=True)
        try:
            for task in chosen.get("task", TASKS).split(","):
                for attention in chosen.get("attention", ATTENTIONS).split(","):
                    if "--speed" in words:
                        passed &= is_no_slower(trees, task, attention, int(chosen.get("turns", TURNS)))
                    else:
                        passed &= trains_alike(trees, place, task, attention)
        finally:
            for tree in trees:
                subprocess.run(["git", "worktree", "remove", "--force", tree], cwd=ROOT, check=True)
    return 0 if passed else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
