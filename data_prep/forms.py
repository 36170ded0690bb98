"""The forms in which the data of each task can be had: names, sizes, addresses, and where they lie on this machine."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from data_prep.download import Archive
from data_prep.parquet_files import names as cached
from data_prep.released_pickles import names as pickles
from lra.base.printed_commands import command, override, typed_overrides
from lra.data.prepare_again import KEPT

IMDB = Archive(
    name="aclImdb_v1.tar.gz",
    url="https://ai.stanford.edu/~amaas/data/sentiment/aclImdb_v1.tar.gz",
    size_bytes=84_125_825,
    sha256="c40f74a18d3b61f90feba1e17730e0d38e8b97c05fde7008942e91923d1658fe",
)
CIFAR_BINARY = Archive(
    name="cifar-10-binary.tar.gz",
    url="https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz",
    size_bytes=170_052_171,
    sha256="c4a38c50a1bc5f3a1c5537f2155ab9d68f9f25eb1ed8d9ddda3db29a59bca1dd",
)
CIFAR_PYTHON = Archive(
    name="cifar-10-python.tar.gz",
    url="https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
    size_bytes=170_498_071,
    sha256="6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
)
IMDB_ON_HUB, CIFAR_ON_HUB = "stanfordnlp/imdb", "uoft-cs/cifar10"


@dataclass(frozen=True, kw_only=True)
class Form:
    """A form of a task's data.

    Attributes:
        names: names by which its file or folder is found, the best first.
        size: its size, for a reader.
        address: where it can be had; empty for what is unpacked from another form.
    """

    names: tuple[str, ...]
    size: str
    address: str


def _archive(archive: Archive) -> Form:
    return Form(names=(archive.name,), size=f"{archive.size_bytes / 1e6:.0f} MB", address=archive.url)


def _unpacked(*names: str) -> Form:
    return Form(names=names, size="unpacked", address="")


def _on_hub(size: str, *datasets: str) -> Form:
    return Form(names=cached(*datasets), size=size, address=f"https://huggingface.co/datasets/{datasets[0]}")


def _pickled(size: str, *tasks: str) -> Form:
    names = tuple(name for task in tasks for name in pickles(task))
    return Form(names=names, size=size, address="https://github.com/mlpen/Nystromformer/tree/main/LRA/datasets")


RELEASE = Form(names=("lra_release.gz",), size="7.7 GB", address="https://github.com/google-research/long-range-arena")
CURVES = ("curv_contour_length_14", "curv_contour_length_9", "curv_baseline")
FORMS: dict[str, tuple[Form, ...]] = {  # in the order in which they are searched
    "listops": (
        _unpacked("listops-1000", "lra_release/listops-1000", "lra_release/lra_release/listops-1000"),
        RELEASE,
        _pickled("about 0.8 GB", "listops"),
    ),
    "text": (
        _archive(IMDB),
        _unpacked("aclImdb"),
        _on_hub("about 40 MB", IMDB_ON_HUB, "imdb"),
        _pickled("about 0.3 GB", "text"),
    ),
    "image": (
        _archive(CIFAR_BINARY),
        _archive(CIFAR_PYTHON),
        _unpacked("cifar-10-batches-bin", "cifar-10-batches-py"),
        _on_hub("about 140 MB", CIFAR_ON_HUB, "cifar10"),
        _pickled("about 0.3 GB", "image"),
    ),
    "pathfinder": (
        _unpacked("lra_release", "pathfinder32"),
        RELEASE,
        _pickled("about 0.8 GB", *(f"pathfinder32-{curves}" for curves in CURVES)),
    ),
    "retrieval": (
        _unpacked("tsv_data", "lra_release/tsv_data", "lra_release/lra_release/tsv_data"),
        RELEASE,
        _pickled("about 6 GB", "retrieval"),
    ),
    "pathx": (_unpacked("lra_release", "pathfinder128"), RELEASE),
}

# What `lra prepare` does where none of a task's forms lies here: it draws the data, or downloads this archive. The data
# of other tasks must be brought.
GENERATED = frozenset({"listops", "pathfinder", "pathx"})
DOWNLOADED = {"text": IMDB, "image": CIFAR_BINARY}


def names_of(task: str) -> tuple[str, ...]:
    """Return the names by which a task's data is found, the best first."""
    return tuple(name for form in FORMS[task] for name in form.names)


def found(task: str, folders: Iterable[Path]) -> list[Path]:
    """Return the files and folders of these names that lie in the folders, in the order of the search."""
    return [folder / name for folder in folders for name in names_of(task) if (folder / name).exists()]


def how_to_get(task: str, prepare: str) -> str:
    """Word what to type for the data of a task of which no form lies here; `prepare` is the command that makes it."""
    if task in GENERATED:
        return f"it can be generated: {prepare}"
    if task in DOWNLOADED:
        archive = _archive(DOWNLOADED[task])
        return f"{archive.names[0]} can be downloaded ({archive.size}): {prepare}"
    form = next(form for form in FORMS[task] if form.address)
    then = f"{prepare} source=/path/to/{form.names[0]}"
    return f"it must be brought: {form.names[0]} ({form.size}) from {form.address}, then: {then}"


def missing_data(task: str, folders: Iterable[Path]) -> Iterator[str]:
    """Yield five lines: what exists, its size, its address, where it is looked for, and the command that follows."""
    forms = FORMS[task]
    firsts = [form.names[0] for form in forms]
    fetched = [form for form in forms if form.address]
    first = fetched[0].names[0]
    yield f"forms     {', '.join(firsts)}; all of them: data_prep/README.md"
    yield f"size      {', '.join(f'{form.names[0]}: {form.size}' for form in fetched)}"
    yield f"address   {', '.join(form.address for form in fetched)}"
    yield f"searched  {', '.join(map(str, folders))}; more folders: export LRA_SOURCE_DIR=/path/to/folder"
    kept = [override("task", task), *typed_overrides("size", *(key for key in KEPT if key != "source"))]
    anywhere = command("prepare", *kept, override("source", f"/data/{first}"))
    yield f"then      {command('prepare', *kept)}, or from any folder: {anywhere}"
