"""Find the parquet files of a data set's splits, in whatever folders and under whatever names a hub has them.

    plain_text/train-00000-of-00001.parquet             as the Hugging Face hub keeps a data set
    data/train-00000-of-00002-1a2b3c4d5e6f7a8b.parquet  as its older tools have written one
    default/train/0000.parquet                          as the hub converts one, in its revision refs/convert/parquet
    train.parquet, imdb_test.parquet                    as people write them

All of these may lie in the folder of a download, or in `datasets--OWNER--NAME/snapshots/REVISION` of the hub's cache,
where they are links to `datasets--OWNER--NAME/blobs`.
"""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from data_prep.archives import refuse_outside
from lra.base.files import regular_file
from lra.base.printed_commands import override
from lra.types import UserError

ENDING = ".parquet"
SNAPSHOTS, CACHED = "snapshots", "datasets--"
REVISIONS_IN_USE = ("refs/main", "refs/convert/parquet")  # the best first; such a file holds the name of a revision
MOST_DEPTH = 6  # folders inside each other, below the one that the user names
WORDS = re.compile(r"[^a-z]+")  # what separates the words of a name
# The number of a part, the number of parts, and a hash of the content, of which only the first must be there.
SHARD = re.compile(r"(?P<before>.*?)(?P<number>\d{1,6})(-of-(?P<count>\d{1,6}))?(-[0-9a-f]{16})?")
MOST_NAME_BYTES = 160  # of a revision


def names(*datasets: str) -> tuple[str, ...]:
    """Return the names of the folders in the hub's cache; `datasets` are such as `stanfordnlp/imdb`."""
    return tuple(f"{CACHED}{dataset.replace('/', '--')}" for dataset in datasets)


def is_parquet(path: Path) -> bool:
    """Whether a source is read as such files: one of them, or a folder with some in it.

    Raises:
        UserError: for a folder in it that is a link to a place outside.
    """
    if not path.is_dir():
        return path.suffix == ENDING
    return (path / SNAPSHOTS).is_dir() or next(_below(path), None) is not None


def files_of_splits(path: Path, dataset: str, splits: tuple[str, ...]) -> tuple[Path, dict[str, list[Path]]]:
    """Find the files of each split; those of other splits are ignored.

    Args:
        path: one of the files, or a folder as for `is_parquet`.
        dataset: the name on the hub, for errors.
        splits: their names, such as `train`.

    Returns:
        The folder in which all files lie, and the files of each split in order.

    Raises:
        UserError: when a file is missing or is a link that leads outside of the folder or the hub's cache, and when
            several sets of files, or several revisions, are there.
    """
    folder = _revision(Path(os.path.realpath(path if path.is_dir() else _folder_of(path, splits))), dataset)
    inside = next((ancestor.parent for ancestor in (folder, *folder.parents) if ancestor.name == SNAPSHOTS), folder)
    parts = [part for file in _below(folder) if (part := _part(file, folder, splits)) is not None]
    files = {split: _in_order(folder, split, [part for part in parts if part.split == split]) for split in splits}
    for split in splits:
        if not files[split]:
            raise UserError(
                f"{folder} has no parquet files of {split}, such as {split}-00000-of-00001{ENDING} or"
                f" {split}/0000{ENDING}; source= wants the folder of {dataset}'s parquet files, or the hub's cache"
            )
    for file in (file for part in files.values() for file in part):
        refuse_outside(file, inside)
        regular_file(file)
    return folder, files


@dataclass(frozen=True, kw_only=True)
class _Part:
    """A file of a split.

    Attributes:
        before: its name before its number.
        number: its number among the files of the split, 0 if its name has none.
        count: how many there are, as its name says it; None: it does not.
    """

    file: Path
    split: str
    before: str
    number: int
    count: str | None

    @property
    def belongs_to(self) -> tuple[Path, str, str | None]:
        """What the files of one set have in common."""
        return self.file.parent, self.before, self.count

    def sibling(self, number: int) -> str:
        """Return the name of another file of the same set, without its hash."""
        own = SHARD.fullmatch(self.file.stem)
        digits = len(own["number"]) if own else 1
        of_count = "" if self.count is None else f"-of-{self.count}"
        return f"{self.before}{number:0{digits}}{of_count}{ENDING}"


def _below(folder: Path) -> Iterator[Path]:
    """Yield the parquet files in a folder and in those below it, but for hidden ones and other data sets of a cache."""
    seen = {os.path.realpath(folder)}

    def walk(parent: Path, depth: int) -> Iterator[Path]:
        for path in sorted(parent.iterdir()):
            if path.name.startswith((".", CACHED)):
                continue
            if path.suffix == ENDING and not path.is_dir():
                yield path
            elif depth < MOST_DEPTH and path.is_dir():
                if path.is_symlink():
                    refuse_outside(path, folder)
                real = os.path.realpath(path)
                if real not in seen:
                    seen.add(real)
                    yield from walk(path, depth + 1)

    yield from walk(folder, 0)


def _folder_of(file: Path, splits: tuple[str, ...]) -> Path:
    """Return the folder of all splits: that of a file which names its split, else the one around the split's own."""
    own = file.parent
    return own.parent if _split(file.stem, splits) is None and _split(own.name, splits) is not None else own


def _split(name: str, splits: tuple[str, ...]) -> str | None:
    """Return the split that a name of a file or folder has among its words, such as `imdb_train`."""
    words = set(WORDS.split(name.lower()))
    found = [split for split in splits if {split, f"{split}ing"} & words]
    return found[0] if len(found) == 1 else None


def _part(file: Path, folder: Path, splits: tuple[str, ...]) -> _Part | None:
    """Tell of which split a file is, by its name or else by the innermost folder that says it; None: of none."""
    names = [file.stem, *reversed(file.relative_to(folder).parts[:-1])]
    split = next((split for name in names if (split := _split(name, splits)) is not None), None)
    if split is None:
        return None
    match = SHARD.fullmatch(file.stem)
    if match is None:
        return _Part(file=file, split=split, before=file.stem, number=0, count=None)
    return _Part(file=file, split=split, before=match["before"], number=int(match["number"]), count=match["count"])


def _in_order(folder: Path, split: str, parts: list[_Part]) -> list[Path]:
    """Sort the files of a split; refuse several sets of them, and a set of which one is missing."""
    _refuse_several_sets(folder, split, parts)
    if not parts or (len(parts) == 1 and parts[0].count is None):
        return [part.file for part in parts]
    files = {part.number: part.file for part in parts}
    stated = parts[0].count
    first = 0 if stated is not None or 0 in files else 1
    end = max(files) + 1 if stated is None else int(stated)
    missing = next((number for number in range(first, end) if number not in files), None)
    if missing is not None:
        name = parts[0].sibling(missing)
        line = f"{parts[0].file.parent} has no {name}; put it beside the others"
        raise UserError(line, kind="missing_part", key=split, value=name)
    if max(files) >= end:
        line = f"{files[max(files)]} is none of the {end} files of {split}; remove it"
        raise UserError(line, kind="several_sets", key=split)
    return [files[number] for number in range(first, end)]


def _refuse_several_sets(folder: Path, split: str, parts: list[_Part]) -> None:
    by_number: dict[int, _Part] = {}
    for part in parts:
        of_number = by_number.setdefault(part.number, part)
        other = parts[0] if part.belongs_to != parts[0].belongs_to else of_number
        if other is not part:
            shown = [str(path.relative_to(folder)) for path in (other.file, part.file)]
            line = f"{folder} has {shown[0]} and {shown[1]}; which are the files of {split}? Remove the others"
            if other.file.parent != part.file.parent:
                line += f", or name their folder: {override('source', other.file.parent)}"
            raise UserError(line, kind="several_sets", key=split, value=shown)


def _revision(path: Path, dataset: str) -> Path:
    """Return the folder of the revision in use, for a folder of the hub's cache; refuse several with none in use."""
    if not (path / SNAPSHOTS).is_dir():
        return path
    revisions = [revision for revision in sorted((path / SNAPSHOTS).iterdir()) if revision.is_dir()]
    with_files = [revision for revision in revisions if next(_below(revision), None) is not None]
    for in_use in REVISIONS_IN_USE:
        if (path / in_use).is_file():
            name = regular_file(path / in_use).read_bytes()[:MOST_NAME_BYTES].decode(errors="replace").strip()
            named = next((revision for revision in with_files if revision.name == name), None)
            if named is not None:
                return named
    if len(with_files) == 1:
        return with_files[0]
    if not with_files:
        raise UserError(f"{path} has no revision of {dataset} with parquet files; fetch it, or name another source=")
    known = ", ".join(revision.name for revision in with_files)
    line = f"{path} has several revisions of {dataset}: {known}; name one: {override('source', with_files[0])}"
    raise UserError(line, kind="several_revisions", key="source", value=[revision.name for revision in with_files])
