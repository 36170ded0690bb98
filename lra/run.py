"""One run: its folder, and what is in it. `Run.of` finds it by its settings, `Run.find` by its name.

A lock is released when its process ends, for whatever reason (see `lra.base.file_lock`). So no process has to guess
whether the holder of a lock is still alive.
"""

from __future__ import annotations

import csv
import errno
import json
import os
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from lra.base.checked_json import parsed_json
from lra.base.file_lock import LockHeldError, NoFileLocksError, file_lock
from lra.base.files import NOT_WRITABLE, read_file, replace_text
from lra.base.paths import runs_dir
from lra.base.printed_commands import command, override
from lra.base.text import without_credentials
from lra.runs.files import FAILED, MARKS_OF_A_RUN, METRICS, PRETRAINING, RESULT, find_folder, folder_names, run_folders
from lra.runs.record import OtherVersionError, move_aside, read_record, write_record
from lra.settings.which_run import run_dir
from lra.types import UserError

if TYPE_CHECKING:  # slow imports, made only where they are used
    import pandas as pd

    from lra.runs.files import FolderNames
    from lra.runs.schema import Record
    from lra.settings.run_config import Config, RunConfig
    from lra.training.module import ClassifierModule

TRAINING = "lock"  # the lock of the process that trains
RUNNER = "runner.lock"  # the lock of the process of a sweep that starts the training process


class RunLockedError(UserError):
    """Raised when another process is at work on the run; `leftover` as in `LockHeldError`."""

    leftover = ""


class Failure(NamedTuple):
    """A failed attempt: its error line, and an id that is different for every failure.

    An id and not a time tells them apart, because the clocks of machines that share a folder may differ.
    """

    error: str
    id: str


@dataclass(frozen=True)
class Run:
    """One run, which may be finished, begun, or not begun yet.

    Record, failure, state and step are read anew at each use, because another process may be at work on the run.

    Attributes:
        folder: its folder, `runs/<group>/<task>/<attention>/<settings>/seed<k>`; it need not exist yet.
    """

    folder: Path

    @classmethod
    def of(cls, config: RunConfig) -> Run:
        """Return the run of a configuration: the same settings and seed have the same folder."""
        return cls(run_dir(config))

    @classmethod
    def find(cls, name: str, *, runs: Path | None = None, seed: int | None = None) -> Run:
        """Find a run by its folder, by the hash of its settings, `a1b9200f`, or by group and hash, `table/a1b9200f`.

        Args:
            name: the folder, which need not exist; or the hash, of which four digits are enough where one run has them.
            runs: the folder of runs; None: the usual one.
            seed: for runs that only the seed tells apart; None for a folder.

        Raises:
            UserError: when no run or several runs have this hash and seed.
        """
        return cls(find_folder(name, runs_dir() if runs is None else runs, seed=seed))

    @classmethod
    def below(cls, top: Path, runs: Path) -> Iterator[Run]:
        """Find the runs at `top`, in or below the folder `runs`; what `force=true` has set aside is none."""
        return map(cls, run_folders(top, runs))

    @classmethod
    def of_hash(cls, digits: str, runs: Path) -> list[Run]:
        """Find the runs below the folder `runs` whose settings have this hash, in the order of groups and seeds."""
        return [run for run in cls.below(runs, runs) if run.names.config_hash == digits]

    def __repr__(self) -> str:
        """Three lines: what it is and its state, its folder, and a command."""
        names = folder_names(self.folder)
        if names is None:
            evaluate = command("evaluate", override("run", self.folder))
            return f"Run: {self.state}\n  {self.folder}\n  {evaluate}"
        evaluate = command("evaluate", override("run", names.config_hash), f"seed={names.seed}")
        what = f"{names.task}/{names.method}, {names.settings}, seed {names.seed}"
        return f"Run {what}: {self.state}\n  {self.folder}\n  {evaluate}"

    # What it is

    @property
    def names(self) -> FolderNames:
        """What the folder's path says: task, method, settings with their hash, steps, and seed."""
        names = folder_names(self.folder)
        assert names is not None, f"{self.folder} is not where a run's folder is made"
        return names

    @cached_property
    def config(self) -> RunConfig:
        """Every setting that the run was begun with, as `lra.compose` returns it; its `paths` are this machine's.

        Raises:
            UserError: when it is no trained run, or the file is damaged or unsafe.
        """
        from lra.settings.compose import load_config

        return self.config_at(load_config("train"))

    def config_at(self, places: Config) -> RunConfig:
        """Read the settings, with another configuration's places of data and runs; raise as `config` does."""
        from lra.settings.stored_config import read_trained_config

        return read_trained_config(self.folder, places)

    # What has come of it

    @property
    def record(self) -> Record | None:
        """The content of `result.json`; None if the run is not finished.

        Raises:
            UserError: when the file is no valid record.
            OtherVersionError: for a record of another schema version.
        """
        return read_record(self.folder)

    @property
    def finished(self) -> bool:
        """Whether the run has a record; a record of another version counts, an unreadable record does not."""
        try:
            return self.record is not None
        except OtherVersionError:
            return True
        except UserError:
            return False

    @property
    def failure(self) -> Failure | None:
        """The last failure in a sweep; None if there is none. An unreadable file counts as a failure."""
        path = self.folder / FAILED
        if not path.exists():
            return None
        text = ""
        try:
            text = read_file(path).decode()
            content = parsed_json(text, path, "")
        except (OSError, ValueError):  # UserError is a ValueError
            content = None
        if not isinstance(content, dict) or not isinstance(content.get("error"), str):
            return Failure(f"it failed, and why cannot be read in {path}", id=text)
        # Older versions wrote no id.
        return Failure(without_credentials(content["error"]), id=str(content.get("id", text)))

    @property
    def last_step(self) -> int:
        """The largest step of the curves, whose last row may be a test's, of the best step; 0 if there is none.

        A file that is no table has none: training says what is wrong with it.
        """
        return _last_step(self.folder / METRICS)

    @property
    def state(self) -> str:
        """What has become of the run, in words, such as `finished` or `not begun`."""
        return self.record_and_state()[1]

    def record_and_state(self) -> tuple[Record | None, str]:
        """Read the record once, for itself and for the state."""
        try:
            record = self.record
        except OtherVersionError as error:
            return None, f"finished, by another version of lra; {error.advice}"
        except UserError:
            return None, "its result.json cannot be read: move it away, and train again"
        if record is not None:
            return record, record.finished_text
        names, failure = folder_names(self.folder), self.failure
        step = self.last_step
        at = f"step {step:,}" + (f" of {names.steps:,}" if names else "")
        if not step and (first := _last_step(self.folder / PRETRAINING / METRICS)):
            at = f"step {first:,} of its pretraining"
        if self.locked:
            return None, f"running, {at}"
        if failure is not None:
            return None, f"failed at {at}: {failure.error}"
        return None, f"begun, {at}" if self.folder.exists() else "not begun"

    @property
    def touched(self) -> float:
        """The time of the last change of one of its files, in seconds since 1970."""
        files = (self.folder / name for name in MARKS_OF_A_RUN)
        return max(path.stat().st_mtime for path in files if path.exists())

    @cached_property
    def curves(self) -> pd.DataFrame:
        """The rows of `metrics.csv`, each with its `step` and what was logged (`train/loss`, `dev/accuracy`, …)."""
        import pandas as pd

        from lra.training.curves import COLUMNS, read_curves

        return pd.DataFrame(read_curves(self.folder / METRICS), columns=list(COLUMNS))

    @cached_property
    def module(self) -> ClassifierModule:
        """The classifier with the weights that had the best dev accuracy, on the CPU, in evaluation mode.

        Raises:
            UserError: when the checkpoint is damaged or does not fit the settings.
        """
        from lra.from_config import build_module, load_best_weights

        module = build_module(self.config)
        load_best_weights(module.model, self.folder)
        return module.eval()

    # What is done to it

    def write(self, record: Mapping[str, object]) -> Record:
        """Check a record, write it atomically, and return it with its schema version.

        Raises:
            UserError: when the record is not valid.
        """
        return write_record(self.folder, record)

    def add_missing(self, lacks: Callable[[Record], bool], add: Callable[[Record], Record]) -> Record | None:
        """Add to the record of a finished run what a kill has left out, under the run's lock.

        `lacks` tells whether a record has not got it; `add` gets such a record, and returns it as it is when what is
        missing cannot be made.

        Returns:
            The record with that part; None if it has still none, or another process is at work on the run.
        """
        try:
            with self.lock(patience_seconds=0):
                record = self.record
                if record is not None and lacks(record):
                    record = add(record)
        except RunLockedError:
            return None
        return None if record is None or lacks(record) else record

    def fail(self, error: str) -> None:
        """Note the error line of a failed attempt in the folder; the next success deletes it.

        A call of `lra table run` retries failures that are older than itself, but not newer ones.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        self.forget_failure()
        failure = {"error": without_credentials(error), "id": secrets.token_hex(8)}
        replace_text(self.folder / FAILED, json.dumps(failure, indent=2) + "\n")

    def forget_failure(self) -> None:
        """Delete the note of an earlier failure, because the run has succeeded."""
        path = self.folder / FAILED
        if path.is_dir():
            move_aside(path)
        path.unlink(missing_ok=True)

    @contextmanager
    def lock(self, file: str = TRAINING, *, patience_seconds: float = 1.0) -> Iterator[None]:
        """Hold a lock on the folder, which is made if it does not exist, so that one process works on the run.

        The default of `patience_seconds`, to wait for the lock, is longer than `locked` in another process holds it.

        Raises:
            RunLockedError: when another process holds the lock.
            NoFileLocksError: when the file system refuses to lock a file.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            try:
                stack.enter_context(file_lock(self.folder / file, seconds=patience_seconds))
            except LockHeldError as error:
                line = f"another process is training this run: {self.folder}; wait for it, or choose another seed="
                line = f"{line}{error.leftover and '. '}{error.leftover}"
                locked = RunLockedError(line, kind="run_locked", key=str(self.folder / file))
                locked.leftover = error.leftover
                raise locked from error
            yield

    @property
    def locked(self) -> RunLockedError | None:
        """The error of locking a run that another process trains, or is about to; None where it is not locked.

        None also if this process can lock nothing there.
        """
        try:
            for file in (RUNNER, TRAINING):
                if (self.folder / file).exists():
                    with self.lock(file, patience_seconds=0):
                        pass
        except RunLockedError as error:
            return error
        except NoFileLocksError:
            return None
        except OSError as error:
            if error.errno not in (*NOT_WRITABLE, errno.EISDIR):
                raise
        return None

    def keep_aside(self, record: Record | None) -> None:
        """Move the files of a finished run, which `force=true` replaces, into a folder beside its own.

        The caller holds the run's lock. The lock files stay. The record is moved last: after a kill in between, the run
        still counts as finished, and the next `force=true` moves the other files to the same place. Without a record
        nothing is moved.

        Raises:
            RunLockedError: when another process has finished the run since `record` was read.
        """
        stored = self.record
        if stored is None:
            return
        if record is None or stored != record:
            line = f"another process has just finished this run: {self.folder}"
            raise RunLockedError(line, kind="finished", key=str(self.folder))
        aside = self._folder_aside(record.provenance["finished_at"])
        aside.mkdir(exist_ok=True)
        kept = {path.name for path in self.folder.iterdir()} - {TRAINING, RUNNER}
        for name in sorted(kept, key=lambda name: name == RESULT):
            os.replace(self.folder / name, aside / name)

    def _folder_aside(self, finished_at: str) -> Path:
        """Choose a folder that is named after the time when the run ended, and that holds no other finished run."""
        name = f"{self.folder.name}.replaced-{re.sub('[^0-9]', '', finished_at)[:14]}"
        names = (name if number == 1 else f"{name}-{number}" for number in count(1))
        return next(aside for aside in map(self.folder.with_name, names) if not (aside / RESULT).exists())


def _last_step(curves: Path) -> int:
    """Read the largest step of a table of curves; 0 if there is none."""
    if not curves.is_file():
        return 0
    with curves.open(encoding="utf-8", errors="replace") as lines:
        try:
            steps = [row["step"] for row in csv.DictReader(lines) if (row.get("step") or "").isdecimal()]
        except csv.Error:
            return 0
    return max(map(int, steps), default=0)
