"""Both ends of a task's preparation: the user's request, and the source of examples that answers it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from data_prep.archives import Tick
from data_prep.download import Archive, download
from lra.data.writer import Example
from lra.files import regular_file, sha256
from lra.types import TaskSpec, UserError

TFDS_SPLITS = {"train": "train", "dev": "validation", "test": "test"}  # TFDS has a word of its own
SOURCE_WORDS = ("auto", "download", "generate", "stand-in")  # everything else that `source=` may be is a path


@dataclass(frozen=True, kw_only=True)
class Request:
    """What the user asks for.

    Attributes:
        spec: the task.
        settings: the task's `data` settings.
        source: a word of SOURCE_WORDS, or the path of an archive or a folder.
        size: full, demo or tiny; names the TFDS configuration.
        verify: refuse what is not the benchmark's: another hash, other counts.
        folders: where `auto` looks; the first is where downloads go.
        scratch: a folder for files that are needed until the store is made; removed then.
        tick: called with how much is done and of how much (None: unknown), for progress.
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
    """Where a task's examples come from, and how they become what is stored.

    Attributes:
        origin: gives `official` (hash verified), `unverified`, `generated`, `stand-in`, or `own` (a user's file),
            when all examples were read.
        facts: what the manifest says of the source; read when all examples have been.
        make_builder: from the TFDS folder to the builder.
        encode: from one TFDS record to what is stored of its N sequences, and the label.
        dtype: of what is stored.
        first_id: what must be added to it for ids.
        counts: examples per split, in the order of the store.
    """

    origin: Callable[[], str]
    facts: dict[str, object]
    make_builder: Callable[[str], Any]
    encode: Callable[[Any], Example]
    dtype: type
    first_id: int
    counts: dict[str, int]


def locate(
    request: Request, names: tuple[str, ...], *, archive: Archive | None, size_hint: str, generates: bool
) -> Path | None:
    """The archive or folder to read, downloaded if need be; None: generate, or write a stand-in.

    Args:
        request: what the user asks for.
        names: files and folders that hold this dataset, best first.
        archive: what can be downloaded.
        size_hint: for the error: how large the file is that the user must bring.
        generates: whether this task has a generator.

    Raises:
        UserError: when nothing is there, or the word in `source=` does not fit the task.
    """
    word, places = request.source, ", ".join(map(str, request.folders))
    if word == "auto":
        place = next((folder / name for folder in request.folders for name in names if (folder / name).exists()), None)
        if place is not None:
            return _whole(place, str(place))
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
            f"task={request.task} needs {names[0]} ({size_hint}); fetch it, put it into one of {places},"
            f" or name it: source=/path/to/{names[0]}"
        )
    if word in SOURCE_WORDS:
        known = [w for w, has in (("generate", generates), ("download", archive)) if has]
        raise UserError(
            f"source={word} is not known for task={request.task} size={request.size}; choose one of"
            f" {', '.join(['auto', *known])}, or a path"
        )
    path = Path(word).expanduser()
    if not path.exists():
        raise UserError(f"source={word} is not there; it may be {', '.join(names)}, or a folder that holds one")
    inside = next((path / name for name in names if path.is_dir() and (path / name).exists()), None)
    return _whole(inside or path, f"source={word}" if inside is None else str(inside))


def _whole(path: Path, said: str) -> Path:
    """A folder, or a file that can be read to its end."""
    return path if path.is_dir() else regular_file(path, said)


def judge(
    request: Request, path: Path, official: tuple[Archive, ...], counts: dict[str, int], benchmark: dict[str, int]
) -> tuple[str, dict[str, object]]:
    """Origin of an archive or folder, and what the manifest says of it.

    `official`: the hash is that of a published archive. `unverified`: it is not, or none is published, or a folder was
    read, but the counts are the benchmark's. `stand-in`: other counts, so that this cannot be the benchmark's data.

    Raises:
        UserError: for another hash or other counts, while `verify` is on.
    """
    remedy = "is it truncated, or another file? To take it as it is: verify=false"
    facts: dict[str, object] = {"path": str(path.resolve())}
    if path.is_file():
        digest = sha256(path)
        facts |= {"bytes": path.stat().st_size, "sha256": digest}
        if any(digest == archive.sha256 for archive in official):
            assert counts == benchmark, f"{path}: {counts}"
            return "official", facts
        if official and request.verify:
            raise UserError(
                f"{path} has sha256 {digest[:12]}…, published is {official[0].sha256[:12]}…; {remedy}"
                " (then 'unverified')"
            )
    if counts == benchmark:
        return "unverified", facts
    if request.verify:
        split = next(name for name, count in benchmark.items() if counts.get(name) != count)
        raise UserError(
            f"{path} has {counts.get(split, 0):,} {split} examples, the benchmark {benchmark[split]:,};"
            f" {remedy} (then 'stand-in': no table shows it)"
        )
    return "stand-in", facts


def spread(count: int, chosen: int) -> list[int]:
    """Numbers of `chosen` of `count` examples, evenly spread; all of them when there are no more."""
    return [i * count // chosen for i in range(chosen)] if chosen < count else list(range(count))
