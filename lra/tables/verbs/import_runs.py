"""lra import: copy runs of another machine into this machine's folder of runs.

  lra import /mnt/cluster/runs              a whole folder of runs
  lra import results.jsonl                  records alone, as lra publish writes them
  lra import /mnt/cluster/runs into=table   all of them into one run group

Every record is checked first. A broken record is reported and not copied. A run that this machine has already is never
changed. It is reported if its result differs from the imported one, or if it is not finished here. Copied are a run's
record, configuration, hashes of the data, curves, figure, best checkpoint and its W&B id; W&B's own files and
checkpoints for resuming are not.
"""

import shutil
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from lra.base.files import checked_name
from lra.base.overrides import Overrides
from lra.base.printed_commands import command, quoted_for_hydra
from lra.base.text import visible
from lra.run import RUNNER, TRAINING, Run, RunLockedError
from lra.runs.collection import collect, describe
from lra.runs.files import BEST, CONFIG, CURVE, DATA, LAST, METRICS, RESULT, WANDB_ID, run_folder
from lra.runs.schema import Identity, Record
from lra.settings.command_options import Import
from lra.settings.run_config import RunConfig
from lra.types import UserError

IMPORTED_FILES = (CONFIG, DATA, METRICS, CURVE, WANDB_ID, BEST)
BEGUN = (BEST, LAST)  # where one of these is without a record, the run was begun on this machine


def to_overrides(arguments: Overrides) -> Overrides:
    """Turn a leading path into `from=PATH`."""
    if arguments and not arguments[0].has_value and not arguments[0].startswith("-"):
        return Overrides([f"from={quoted_for_hydra(arguments[0])}", *arguments[1:]])
    return arguments


@dataclass(frozen=True, kw_only=True)
class Imported:
    """How many runs were copied into the folder `runs`, and were there before, and what was left out, with reasons."""

    runs: Path
    copied: int
    were_here: int
    left_out: int
    problems: list[str]

    def show(self, console: Console) -> None:
        """Print the problems and the counts."""
        for problem in self.problems:
            console.print(problem)
        counts = f"{self.copied} runs imported, {self.were_here} were here, {self.left_out} left out"
        console.print(visible(f"{counts}: {self.runs}"))


def run(cfg: RunConfig) -> Imported:
    """Copy the runs that this machine does not have."""
    asked = Import.view(cfg)
    if asked.from_ is None:
        right = command("import", "/mnt/other/runs")
        raise UserError(f"import what? type for example: {right}", kind="missing_option", key="from", right=right)
    path = Path(asked.from_).expanduser()
    if not path.exists():
        line = f"{path} is not there; type the folder of runs, or the .jsonl file, to import"
        raise UserError(line, kind="missing_file", key="from", value=str(path))
    into = None if asked.into is None else checked_name(asked.into, "into=", example="table", nested=True)
    collection = collect(path, separate_run_groups=into is None)
    copied: list[bool] = []  # of each run that is here now
    refused: list[UserError] = []  # of each other run
    for record, source in zip(collection.records, collection.sources, strict=True):
        try:
            copied.append(_bring(source, record, _run(cfg.paths.runs, record, into)))
        except UserError as error:
            refused.append(error)
            collection.left_out += 1
            collection.problems.append(visible(f"left out: {describe(record)}: {error}"))
    if not copied:
        first, *others = collection.problems or ["no record of a run is there"]
        more = f" (and {len(others)} more)" if others else ""
        line = f"nothing is imported from {path}; {first}{more}"
        raise UserError(line, kind="no_records", key=str(path)) from next(iter(refused), None)
    return Imported(
        runs=cfg.paths.runs,
        copied=copied.count(True),
        were_here=copied.count(False),
        left_out=collection.left_out,
        problems=collection.problems,
    )


def _run(runs: Path, record: Record, into: str | None) -> Run:
    """Build the run that `lra train` would make; a foreign record must not choose a place on this disk."""
    identity: Identity = {**record.identity, "run_group": into or record.run_group}
    checked_name(identity["run_group"], "its group=", example="listops", nested=True)
    for key in ("task", "attention", "protocol", "size"):
        checked_name(identity[key], f"its {key}=", example="listops")
    checked_name(record.config_hash, "its config_hash=", example="listops")
    return Run(run_folder(runs, identity, steps=record.steps, config_hash=record.config_hash))


def _bring(source: Path, record: Record, run: Run) -> bool:
    """Copy a run into its folder while no other process works there; False if the same run is there already."""
    there = run.record
    if there is None:
        try:
            with run.lock(RUNNER, patience_seconds=0), run.lock(TRAINING, patience_seconds=0):
                there = run.record
                if there is None:
                    if any((run.folder / name).exists() for name in BEGUN):
                        line = f"a run of these settings was begun here; finish it, or move it away: {run.folder}"
                        raise UserError(line, kind="begun_here", key=str(run.folder))
                    _copy(source, record, run)
                    return True
        except RunLockedError as error:
            line = f"a run of these settings is in progress here: {run.folder}"
            raise UserError(line, kind="in_progress", key=str(run.folder)) from error
    if there != record:
        line = f"it is here already, with another result: {run.folder}"
        raise UserError(line, kind="other_result", key=str(run.folder))
    return False


def _copy(source: Path, record: Record, run: Run) -> None:
    """Copy all files under temporary names, then rename them, the record last: a run with a record is complete."""
    folder = run.folder
    if source.name == RESULT:
        paths = [source.parent / name for name in IMPORTED_FILES]
        brought = [path.name for path in paths if path.is_file() and not path.is_symlink()]
        for name in brought:
            shutil.copyfile(source.parent / name, folder / f"{name}.unfinished")
        for name in brought:
            (folder / f"{name}.unfinished").replace(folder / name)
    run.write(record)
