"""Make a task's data: read its source, write a TFDS dataset, pack it into a store, and remove the dataset.

Temporary folders are removed at the end of a preparation, or after a kill by the next, which restores an old store.
"""

from __future__ import annotations

import contextlib
import importlib.metadata
import io
import logging
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from data_prep.card import described, write_card
from data_prep.forms import FORMS
from data_prep.source import TFDS_SPLITS, Request, Source
from lra.base.file_lock import LockHeldError
from lra.base.files import delete_temporary, replaced_folder, restore_folder, unfinished_folder
from lra.base.paths import source_dirs
from lra.base.printed_commands import override
from lra.data.manifest import MANIFEST, read_manifest
from lra.data.prepare_again import size_of_store
from lra.data.same_request import SOURCE_KEYWORDS, check_request
from lra.data.source_content import content_of
from lra.data.writer import Example, StoreForm, store_lock, write_store
from lra.types import TaskSpec, UserError

if TYPE_CHECKING:  # it needs TFDS
    from data_prep.builder import RowsBuilder

READ_ROWS = 256  # rows that are read together; reading single rows takes twice as long
OWN_FOLDER = ("*/[!.]*", "*/*/[!.]*")  # files of a folder of the user's own, see data_prep/tokens/read_images.py
# Of the numbers that are read together, if each row is as long as it can be: of long ones there are fewer.
READ_BYTES = 1 << 25
PACKAGES = ("lra", "tensorflow-datasets", "array_record", "numpy")


def prepare(
    spec: TaskSpec,
    settings: dict[str, Any],
    folder: Path,
    *,
    open_source: Callable[[Request], Source],
    version: str,
    source: str,
    verify: bool,
    force: bool,
    command: str,
    console: Console,
) -> dict[str, Any]:
    """Make a task's store, unless it exists already; one that a killed process left under another name does.

    Args:
        settings, source, verify: see `Request`.
        folder: the store's folder, `…/stores/<task>/<size>`; of a probe `…/<size>-<hash of its data settings>`.
        open_source: function that opens the task's source.
        version: version of the task's dataset.
        force: whether an existing store is made again.
        command: the command that the user typed, for the manifest.

    Returns:
        The manifest.

    Raises:
        UserError: when the source is missing, broken or not the benchmark's, or a store with other settings exists.
    """
    with store_lock(folder):
        clear_leftovers(folder)
        if (folder / MANIFEST).exists() and not force:
            manifest = read_manifest(folder)
            check_request(manifest, folder, settings, source, version)
            return dict(manifest)
        started = time.monotonic()
        with progress(console) as bar, unfinished_dataset(folder) as unfinished:
            shown = ProgressLine(bar, f"{spec.name} size={size_of_store(folder)}")
            request = Request(
                spec=spec,
                settings=settings,
                source=source,
                size=size_of_store(folder),
                verify=verify,
                folders=source_dirs(),
                scratch=unfinished,
                tick=shown.tick,
            )
            return _make(request, open_source(request), folder, shown, command=command, started=started)


class ProgressLine:
    """The line of a preparation in the progress bar: what is done now, and how far."""

    def __init__(self, bar: Progress, name: str):
        self.bar, self.name = bar, name
        self.task = bar.add_task(f"{name}: read the source", total=None)

    def tick(self, done: int, total: int | None) -> None:
        """Show an amount, and the total one; None: unknown."""
        self.bar.update(self.task, completed=done, total=total)

    def begin(self, what: str, total: int) -> None:
        """Show what is done now, of which nothing is done yet."""
        self.bar.update(self.task, description=f"{self.name}: {what}", completed=0, total=total)

    def advance(self, amount: int = 1) -> None:
        """Show some more."""
        self.bar.advance(self.task, amount)


def _make(
    request: Request, opened: Source, folder: Path, shown: ProgressLine, *, command: str, started: float
) -> dict[str, Any]:
    """Write the TFDS dataset of a source, and pack it into the store."""
    with quiet_tfds():
        builder = opened.make_builder(str(request.scratch))
    builder.tick = shown.advance
    info = builder.info
    about = {"name": f"lra_{request.task}_{request.size}", "description": info.description, "url": info.homepage}
    about |= {"citeAs": info.citation, **described(request.task)}
    rows = sum(opened.counts.values())
    shown.begin("write the TFDS dataset", rows)
    with quiet_tfds():
        builder.download_and_prepare()
    total = sum(builder.info.splits[TFDS_SPLITS[split]].num_examples for split in opened.counts)
    shown.begin("pack", total)
    longest = request.settings["max_length"]
    row_bytes = longest * request.spec.num_sequences * np.dtype(opened.dtype).itemsize
    together = min(max(READ_BYTES // row_bytes, 1), READ_ROWS)
    splits: dict[str, Iterable[Example]] = {
        split: _examples(builder, split, opened, shown, together) for split in opened.counts
    }
    if request.task in FORMS:
        splits["train"] = _of_all_classes(splits["train"], request, opened.label_words)
    path = Path(str(opened.facts.get("path")))
    if request.task not in FORMS and path.is_dir():  # a folder of the user's own
        opened.facts["content"] = content_of(path, OWN_FOLDER)
    form = StoreForm(spec=request.spec, dtype=opened.dtype, max_length=longest, first_id=opened.first_id)
    return write_store(
        folder,
        form,
        splits,
        facts={
            "origin": opened.origin(),
            "asked": _asked(request),
            "source": opened.facts,
            "builder": f"{builder.info.full_name}",
            "versions": {package: importlib.metadata.version(package) for package in PACKAGES},
            "command": command,
        },
        started=started,
        finish=lambda unfinished, manifest: write_card(unfinished, manifest, about),
    )


def _asked(request: Request) -> dict[str, object]:
    """Return the request as the manifest records it."""
    asked: dict[str, object] = {"settings": request.settings, "source": request.source}
    if request.source not in SOURCE_KEYWORDS:
        asked["source_path"] = str(Path(request.source).expanduser().resolve())
    return asked


def _examples(
    builder: RowsBuilder, split: str, source: Source, shown: ProgressLine, together: int
) -> Iterator[Example]:
    """Yield the examples of a split; `together` rows of the TFDS dataset are in memory."""
    records = builder.as_data_source(TFDS_SPLITS[split])
    for start in range(0, len(records), together):
        chunk = records.__getitems__(range(start, min(start + together, len(records))))
        yield from map(source.encode, chunk)
        shown.advance(len(chunk))


def _of_all_classes(examples: Iterable[Example], request: Request, words: tuple[str, ...] | None) -> Iterator[Example]:
    """Yield the training examples, and refuse them if a class has none: these cannot be the benchmark's."""
    words = words or tuple(map(str, range(request.spec.num_classes)))
    missing = set(range(request.spec.num_classes))
    for example in examples:
        missing.discard(example[1])
        yield example
    if missing:
        absent = [words[label] for label in sorted(missing)]
        line = (
            f"{override('source', request.source)} has no train example of label {', '.join(absent)}, but"
            f" task={request.task} has {', '.join(words)}; is a part of it missing?"
        )
        raise UserError(line, kind="missing_class", key="source", value=absent)


def progress(console: Console) -> Progress:
    """Make a progress bar with the time left; it is hidden if the output is no terminal."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


@contextlib.contextmanager
def quiet_tfds() -> Iterator[None]:
    """Within this context, hide TFDS's progress bars and messages; its errors are still raised."""
    logging.getLogger("absl").setLevel(logging.ERROR)
    import tensorflow_datasets as tfds

    tfds.disable_progress_bar()
    with contextlib.redirect_stdout(io.StringIO()):
        yield


@contextlib.contextmanager
def unfinished_dataset(store: Path) -> Iterator[Path]:
    """Make a temporary folder for the TFDS dataset that a store is packed from; the caller holds the store's lock."""
    folder = _dataset_folder(store)
    shutil.rmtree(folder, ignore_errors=True)  # a killed process may have left it
    folder.mkdir(parents=True)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def remove_leftovers(store: Path) -> None:
    """Call `clear_leftovers` if there are any, unless another process is making the store."""
    folders = (_dataset_folder(store), unfinished_folder(store), replaced_folder(store))
    left = [folder for folder in folders if folder.exists() and os.access(folder.parent, os.W_OK)]
    if left:
        with contextlib.suppress(LockHeldError), store_lock(store, wait=False):
            clear_leftovers(store)


def clear_leftovers(store: Path) -> None:
    """Remove the temporary folders that killed processes have left; the caller holds the store's lock.

    A process that was killed between the two renames of `making_folder` has left an old store under another name and
    none in its place: it is moved back.
    """
    restore_folder(store)
    delete_temporary(store)
    shutil.rmtree(_dataset_folder(store), ignore_errors=True)


def _dataset_folder(store: Path) -> Path:
    return store.with_name(f".{store.name}.tfds.unfinished")
