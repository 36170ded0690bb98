"""Find the data of tasks, make a task's store when it is missing, and print its statistics."""

import sys
from pathlib import Path

from rich.console import Console

from lra.base.paths import source_dirs
from lra.base.text import size_text, visible
from lra.data.manifest import MANIFEST, read_manifest
from lra.data.same_request import check_request
from lra.from_config import build_codec, build_source, build_spec
from lra.settings.run_config import RunConfig
from lra.settings.which_run import store_dir


def is_prepared(cfg: RunConfig) -> bool:
    """Tell whether the task's store exists."""
    return (store_dir(cfg) / MANIFEST).exists()


def ensure_store(cfg: RunConfig, console: Console, *, force: bool = False) -> bool:
    """Make the task's store if it is missing or `force`; return whether it was made."""
    spec, folder = build_spec(cfg), store_dir(cfg)
    there, version = is_prepared(cfg), build_codec(cfg).version
    if there and not force:  # without a lock, because the folder of a prepared store may be read-only
        check_request(read_manifest(folder), folder, cfg.task.data, cfg.source, version)
        return False
    from data_prep.prepare import prepare  # only what makes data needs it, and a machine that trains may not have it

    if not there:
        console.print(f"preparing {cfg.task.name} size={cfg.size.name} …")
    prepare(
        spec,
        cfg.task.data,
        folder,
        open_source=lambda request: build_source(cfg)(request),  # built late: prepare checks first for TFDS
        version=version,
        source=cfg.source,
        verify=cfg.verify,
        force=force,
        command=" ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        console=console,
    )
    return True


def data_found() -> dict[str, list[Path]]:
    """Return the files and folders with the data of each of the benchmark's tasks, in the folders that are searched."""
    from data_prep.forms import FORMS, found

    return {task: found(task, source_dirs()) for task in FORMS}


def how_to_get_data(task: str, prepare: str) -> str:
    """Word what to type for the data of one of the benchmark's tasks that lies nowhere here."""
    from data_prep.forms import how_to_get

    return how_to_get(task, prepare)


def print_store(console: Console, folder: Path) -> None:
    """Print counts, lengths, label balance, size and preparation time of a store."""
    manifest = read_manifest(folder)
    for name, split in manifest["splits"].items():
        least, middle, most = (f"{split['length_quantiles'][part]:,.0f}" for part in ("0", "0.5", "1"))
        labels = "  ".join(f"{label}: {count / split['count']:.1%}" for label, count in split["label_counts"].items())
        lengths = f"tokens {least} to {most}, median {middle}"
        console.print(f"{name:<6}{split['count']:>8,} examples   {lengths}\n      labels {labels}")
    words = manifest.get("source", {}).get("vocabulary")
    if words:
        console.print(f"tokens are words: {len(words):,}, such as {', '.join(map(visible, words[1:6]))}")
    for key, only in manifest.get("source", {}).get("requires", {}).items():
        console.print(f"only for protocol.{key}={only}: the source has no more")
    for part in manifest.get("source", {}).get("left_out", []):
        console.print(f"left out  {part['why']}: {part['count']:,}", soft_wrap=True)
    size = sum(path.stat().st_size for path in folder.iterdir())
    console.print(f"{manifest['origin']}, {size_text(size)}, made in {manifest['seconds']:.0f} s: {folder}")
