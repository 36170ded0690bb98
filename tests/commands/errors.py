"""The line of each mistake in `errors.yaml`: `make renew` writes the file anew, `test_errors.py` compares with it."""

import os
import shlex
import tempfile
from pathlib import Path

import pytest
import yaml

from tests.conftest import ROOT, lra_here

FILE = Path(__file__).with_name("errors.yaml")
HEAD = """\
# What is typed by mistake, and the line that lra prints; the exit code is 2 where no other stands here.
# To add a mistake, write its `type:`; `make renew` writes what is said. Words in capitals: tests/commands/errors.py.
"""
CORES = 4  # whatever machine this is


def read_errors() -> dict[str, list[dict]]:
    """Read the rows by what they need: nothing, prepared data, or a trained run; other words for ours need nothing."""
    return yaml.safe_load(FILE.read_text("utf-8"))


def stand_ins(place: Path, run: Path) -> dict[str, str]:
    """Make what the words in capitals stand for, in a new folder `place`."""
    place.mkdir()
    (place / "file").touch()
    (place / "folder").mkdir()
    (place / "records.jsonl").write_text('{"speed": 3}\n')
    os.mkfifo(place / "pipe")
    names = {"SOME_FILE": "file", "SOME_FOLDER": "folder", "SOME_RECORDS": "records.jsonl", "SOME_PIPE": "pipe"}
    made = {word: str(place / name) for word, name in names.items()} | {"LONG_NAME": "x" * 5000}
    return {**made, "RUN_FOLDER": str(run), "PUBLISHED": str(ROOT / "runs/published")}


def said(command: str, home: Path, *, data: Path, run: Path) -> tuple[int, str]:
    """Type a command in an empty folder.

    Args:
        command: the command, with stand-ins.
        home: the folder, which is made; also of the runs.
        data: the folder of the data.
        run: the folder of a trained run.

    Returns:
        The exit code, and what is printed on standard error, without `lra: ` and with the stand-ins.
    """
    home.mkdir()
    places = stand_ins(home.with_name(f"{home.name}-given"), run)
    for word, path in places.items():
        command = command.replace(word, path)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "cpu_count", lambda: CORES)
        done = lra_here(*shlex.split(command)[1:], data=data, runs=home / "runs")
    line = done.stderr.removesuffix("\n")
    assert line.startswith("lra: "), (command, line)
    for word, path in {**places, "DATA_FOLDER": str(data), "HERE": str(home)}.items():
        line = line.replace(path, word)
    return done.returncode, line.removeprefix("lra: ")


def train_one(data: Path, runs: Path) -> Path:
    """Train the run that RUN_FOLDER stands for, and return its folder."""
    words = ("train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "recipe.batch_size=16", "logger=csv")
    done = lra_here(*words, data=data, runs=runs)
    assert done.returncode == 0, done.stderr
    return next(runs.rglob("result.json")).parent


def write_errors() -> None:
    """Write the file anew, with what each command says now."""
    groups = read_errors()
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        run = train_one(data, Path(folder) / "runs")
        for number, row in enumerate(row for rows in groups.values() for row in rows):
            code, row["says"] = said(row["type"], Path(folder) / f"home{number}", data=data, run=run)
            row.pop("code", None)
            row.update({"code": code} if code != 2 else {})
    order = ("type", "says", "code", "slow")
    groups = {need: [{key: row[key] for key in order if key in row} for row in rows] for need, rows in groups.items()}
    FILE.write_text(HEAD + yaml.safe_dump(groups, sort_keys=False, width=10**6, allow_unicode=True), "utf-8")


if __name__ == "__main__":
    write_errors()
