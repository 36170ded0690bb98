"""Read the pickles `NAME.{train,dev,test}.pickle` that the Nyströmformer repository's scripts write for each task.

A file is a list of dictionaries: `input_ids_0` (and `input_ids_1` for pairs), arrays of ids with zeros at their end,
and `label`, a number. Files that are passed around are also named `lra-NAME.….pickle`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from data_prep.archives import MB, refuse_outside
from data_prep.first_bytes import HEAD_BYTES, form_of, refuse_form
from data_prep.source import Request, determine_origin
from data_prep.unpickle import elements, with_text_keys
from lra.base.files import regular_file
from lra.data.manifest import SPLITS
from lra.types import UserError

ORIGIN = "pickle"
BEFORE = ("", "lra-")  # what stands before a task's name
ENDING = ".pickle"
ROWS_PER_TICK = 1000
Row = tuple[list[np.ndarray], int]  # the ids of each sequence, without the zeros at its end, and the label


def names(task: str) -> tuple[str, ...]:
    """Return the names by which a task's pickles are found; `task` is its name in the repository."""
    return tuple(f"{before}{task}.train{ENDING}" for before in BEFORE)


def is_pickle(path: Path) -> bool:
    """Whether a source is read as such pickles."""
    return path.suffix == ENDING and not path.is_dir()


@dataclass(frozen=True, kw_only=True)
class Pickles:
    """A task's pickles.

    Attributes:
        files: the file of each split.
        ids: number of ids of each sequence.
        padding: how many of them, at the end, are always zero; in images, which have none, a zero is a black pixel.
        largest: largest id.
    """

    request: Request
    files: dict[str, Path]
    ids: int
    padding: int
    largest: int

    @classmethod
    def open(
        cls, request: Request, path: Path, task: str, splits: Iterable[str], *, ids: int, padding: int, largest: int
    ) -> Pickles:
        """Find the files of the splits beside the file `path`, which is one of them.

        Raises:
            UserError: when it has another name than the task's, or a file is missing.
        """
        stem = path.name.removesuffix(ENDING).rpartition(".")[0]
        if stem not in {f"{before}{task}" for before in BEFORE}:
            raise UserError(f"{path} is not for task={request.task}: its pickles are {', '.join(names(task))}")
        files = {split: cls._of_split(path, split) for split in splits}
        for file in files.values():
            if not file.is_file():
                raise UserError(f"{path.parent} has no {file.name}; put it beside {path.name}")
            if not path.is_symlink():
                refuse_outside(file, path.parent)
            with regular_file(file).open("rb") as opened:
                form = form_of(opened.read(HEAD_BYTES))
            if form.name != "pickle":
                raise refuse_form(str(file), form, "a pickle")
        return cls(request=request, files=files, ids=ids, padding=padding, largest=largest)

    @staticmethod
    def _of_split(path: Path, split: str) -> Path:
        """Return the path of a split's file, beside that of another one."""
        return path.with_name(f"{path.name.removesuffix(ENDING).rpartition('.')[0]}.{split}{ENDING}")

    def rows(self, split: str) -> Iterator[Row]:
        """Yield the rows of a split; they are checked, and at most 1,000 of them are in memory.

        Raises:
            UserError: with file and row, for a row of another form.
        """
        path = self.files[split]
        total = path.stat().st_size // MB
        keys = [f"input_ids_{number}" for number in range(self.request.spec.num_sequences)]
        wanted = {*keys, "label"}
        with path.open("rb") as file:
            for number, row in enumerate(elements(file, str(path))):
                if number % ROWS_PER_TICK == 0:
                    self.request.tick(file.tell() // MB, total)
                where = f"{path}, row {number}"
                row = with_text_keys(row, where)
                if row.keys() != wanted:
                    raise UserError(f"{where}: not a dictionary of {', '.join(sorted(wanted))}")
                label, classes = row["label"], self.request.spec.num_classes
                if type(label) not in (int, float) or label not in range(classes):
                    raise UserError(f"{where}: the label is {label!r:.40} instead of 0 to {classes - 1}")
                yield [self._sequence(row[key], f"{where}, {key}") for key in keys], int(label)

    def _sequence(self, ids: object, where: str) -> np.ndarray:
        if not isinstance(ids, np.ndarray) or ids.dtype.kind not in "iu" or ids.shape != (self.ids,):
            found = f"{ids.dtype} {list(ids.shape)}" if isinstance(ids, np.ndarray) else type(ids).__name__
            raise UserError(f"{where}: {found}, not an array of {self.ids:,} whole numbers")
        if ids.min() < 0 or ids.max() > self.largest:
            raise UserError(f"{where}: ids {ids.min()} to {ids.max()}, not 0 to {self.largest}")
        if not self.padding:
            return ids
        kept = np.trim_zeros(ids, "b")
        if len(kept) > self.ids - self.padding or not kept.all():
            raise UserError(f"{where}: padding (0) is not at its end alone, which has at least {self.padding} of it")
        return kept

    def counts(self) -> dict[str, int]:
        """Count the rows of each split; all of them are read and checked."""
        return {split: sum(1 for _ in self.rows(split)) for split in self.files}

    def chosen(self, split: str, numbers: Iterable[int]) -> Iterator[Row]:
        """Yield the rows with these numbers, in the order of the file."""
        wanted = set(numbers)
        return (row for number, row in enumerate(self.rows(split)) if number in wanted)

    def origin(self, counts: dict[str, int], benchmark: dict[str, int]) -> tuple[str, dict[str, object]]:
        """Decide the origin and collect facts, as `determine_origin` does."""
        one = next(iter(self.files.values()))
        paths = (self._of_split(one, split) for split in SPLITS)  # also of one that is not read
        files = [path for path in paths if path.is_file()]
        return determine_origin(self.request, one.parent, (), counts, benchmark, files=files, whole_is=ORIGIN)
