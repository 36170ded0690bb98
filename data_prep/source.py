"""The user's request for data, the source of examples that is opened for it, and functions to find and judge files."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_prep.archives import Tick, refuse_outside
from data_prep.download import MISSING, Archive, download
from data_prep.first_bytes import HEAD_BYTES, form_of, refuse_form
from lra.base.files import regular_file, sha256
from lra.base.printed_commands import override
from lra.data.same_request import SOURCE_KEYWORDS
from lra.data.source_content import content_of
from lra.data.writer import Example
from lra.types import TaskSpec, UserError

TFDS_SPLITS = {"train": "train", "dev": "validation", "test": "test"}  # TFDS's names of the splits
OWN_READERS = (".pickle", ".parquet")  # files that are no archives, and are read as what their names say
TABLES = (".csv", ".tsv", ".json", ".jsonl")


@dataclass(frozen=True, kw_only=True)
class Request:
    """A user's request for the data of a task.

    Attributes:
        spec: facts about the task.
        settings: the task's `data` settings.
        source: a word of SOURCE_KEYWORDS, or the path of an archive or a folder.
        size: full, short or tiny; also the name of the TFDS configuration.
        verify: whether a source with another hash or another number of examples than the benchmark's is refused.
        folders: folders that `auto` searches; downloads go to the first one.
        scratch: folder for temporary files, which is removed when the store is made.
        tick: called to show progress, with the amount done and the total amount (None: unknown).
    """

    spec: TaskSpec
    settings: dict[str, Any]
    source: str
    size: str
    verify: bool
    folders: list[Path]
    scratch: Path
    tick: Tick

    @property
    def task(self) -> str:
        """The task's name."""
        return self.spec.name


@dataclass(frozen=True, kw_only=True)
class Source:
    """The source of a task's examples, and how they are encoded for the store.

    Attributes:
        origin: returns `official` (hash verified), `unverified`, `pickle`, `generated`, `stand-in`, or `own` (a user's
            file); it is called after all examples were read.
        facts: facts about the source for the manifest; they are complete after all examples were read.
        make_builder: makes the TFDS builder from the folder for TFDS datasets.
        encode: converts a TFDS record to the numbers to store of its N sequences, and the label.
        dtype: type of the stored numbers.
        first_id: number to add to a stored number to get the token id.
        counts: number of examples of each split, in the order of the store.
        label_words: the source's own words for the classes, such as `neg`, for errors; None: the classes' numbers.
    """

    origin: Callable[[], str]
    facts: dict[str, object]
    make_builder: Callable[[str], Any]
    encode: Callable[[Any], Example]
    dtype: type
    first_id: int
    counts: dict[str, int]
    label_words: tuple[str, ...] | None = None


def locate(
    request: Request,
    names: tuple[str, ...],
    *,
    archive: Archive | None,
    generates: bool,
    size_hint: str = "",
    holds: Callable[[Path], bool] = lambda path: True,
    is_part: Callable[[Path], bool] = lambda path: False,
) -> Path | None:
    """Find the archive or folder to read, or download it; None: the data is to be generated, or a stand-in written.

    Args:
        names: names of files and folders with this dataset, the best first.
        archive: the archive that can be downloaded; None: there is none.
        generates: whether this task has a generator.
        size_hint: where no archive can be downloaded: size of the file that the user has to provide, for the error.
        holds: whether a file or folder of these names, found by `auto`, may hold this dataset.
        is_part: whether a file is one of several that this task reads together.

    Raises:
        UserError: when nothing is found, the word in `source=` does not fit the task, or the file cannot be the
            benchmark's by its form.
    """
    word, folders = request.source, ", ".join(map(str, request.folders))
    if word == "auto":
        existing = (folder / name for folder in request.folders for name in names if (folder / name).exists())
        first = next(filter(holds, existing), None)
        if first is not None:
            found = _readable(first, str(first))
            _refuse_other_forms(found, request.task, names)
            return found
        if generates or request.size == "tiny":
            return None
        word = "download"
    if word == "generate" and generates:
        return None
    if word == "stand-in" and request.size == "tiny" and not generates:
        return None
    if word == "download" and archive is not None:
        return download(archive, request.folders[0], request.tick)
    if word == "download":
        raise UserError(
            f"task={request.task} needs {names[0]} ({size_hint}); fetch it, put it into one of {folders},"
            f" or name it: source=/path/to/{names[0]}",
            kind=MISSING,
        )
    if word in SOURCE_KEYWORDS:
        known = [w for w, has in (("generate", generates), ("download", archive)) if has]
        raise UserError(
            f"source={word} is not known for task={request.task} size={request.size}; choose one of"
            f" {', '.join(['auto', *known])}, or a path"
        )
    path = Path(word).expanduser()
    if not path.exists():
        line = f"{override('source', word)} is not there; it may be {', '.join(names)}, or a folder that holds one"
        raise UserError(line, kind="missing_source", key="source", value=word)
    inside_path = [path / name for name in names if path.is_dir() and (path / name).exists()]
    named = path.name in names  # then a folder of such a name in it, as the benchmark's archive has, is a part of it
    inside = next((inner for inner in inside_path if not (named and inner.is_dir())), None)
    if inside is not None:
        refuse_outside(inside, path)
    found = _readable(inside or path, override("source", word) if inside is None else str(inside))
    if not is_part(found):
        _refuse_other_forms(found, request.task, names)
    return found


def _refuse_other_forms(path: Path, task: str, names: tuple[str, ...]) -> None:
    """Refuse what cannot be the benchmark's by its form: what is no tar, and a single table, which has no splits."""
    if path.is_dir() or path.suffix in OWN_READERS:
        return
    wanted = f"{names[0]}, or the folder that holds its files"
    with path.open("rb") as file:
        form = form_of(file.read(HEAD_BYTES))
    if path.suffix in TABLES and form.name in ("text", "unknown"):  # unknown: in another encoding
        line = (
            f"{path} is a single table, without the splits of task={task}, so no result on it can be compared; source="
            f" wants {wanted}; a table as a task of your own: docs/your_data.md"
        )
        raise UserError(line, kind="wrong_form", key=str(path), value="table")
    if not form.archive:
        raise refuse_form(str(path), form, f"a tar archive: source= wants {wanted}")


def _readable(path: Path, shown_as: str) -> Path:
    """Return `path` if it is a folder or a readable regular file."""
    return path if path.is_dir() else regular_file(path, shown_as)


def determine_origin(
    request: Request,
    path: Path,
    official: tuple[Archive, ...],
    counts: dict[str, int],
    benchmark: dict[str, int],
    *,
    files: Iterable[Path] = (),
    patterns: Iterable[str] = (),
    whole_is: str = "unverified",
) -> tuple[str, dict[str, object]]:
    """Decide the origin of an archive or folder, and collect facts about it for the manifest.

    `official`: the hash is that of a published archive. `unverified`: the number of examples is the benchmark's, but
    the hash is another one, or none is published, or a folder was read; other forms have a word of their own.
    `stand-in`: the number of examples is another one, so this cannot be the benchmark's data.

    Args:
        official: the published archives.
        counts: number of examples in each split.
        benchmark: the benchmark's number of examples in each split.
        files: files in the folder whose hashes are among the facts.
        patterns: glob patterns of the files in the folder, where they are many, that have one hash together.
        whole_is: the origin of data with the benchmark's number of examples, where no hash is published for its form.

    Raises:
        UserError: for another hash or another number of examples, if `verify` is True.
    """
    remedy = f"is it truncated, or another file? To take it as it is: {override('verify', False)}"
    facts: dict[str, object] = {"path": str(path.resolve())}
    if hashes := {file.name: sha256(file) for file in files}:
        facts["files"] = hashes
    if path.is_file():
        digest = sha256(path)
        facts |= {"bytes": path.stat().st_size, "sha256": digest}
        if any(digest == archive.sha256 for archive in official):
            assert counts == benchmark, f"{path}: {counts}"
            return "official", facts
        if official and request.verify:
            line = f"{path} has sha256 {digest[:12]}…, published is {official[0].sha256[:12]}…; {remedy}"
            raise UserError(f"{line} (then 'unverified')", kind="other_hash", key=str(path), right="verify=false")
    if counts != benchmark and request.verify:
        split = next(name for name, count in benchmark.items() if counts.get(name) != count)
        line = (
            f"{path} has {counts.get(split, 0):,} {split} examples, the benchmark {benchmark[split]:,};"
            f" {remedy} (then 'stand-in': no table shows it)"
        )
        raise UserError(line, kind="other_counts", key=str(path), value=counts.get(split, 0), right="verify=false")
    if path.is_dir() and (patterns := tuple(patterns)):
        facts["content"] = content_of(path, patterns)
    return whole_is if counts == benchmark else "stand-in", facts


def evenly_spaced(count: int, chosen: int) -> list[int]:
    """Choose `chosen` of `count` examples, evenly spaced, or all of them if there are no more; return their numbers."""
    return [i * count // chosen for i in range(chosen)] if chosen < count else list(range(count))
