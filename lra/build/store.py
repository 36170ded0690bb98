"""Make a task's store when it is missing, and print its statistics."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from rich.console import Console

    from lra.data.manifest import SplitFacts


def ensure_store(cfg: DictConfig, console: Console, *, force: bool = False) -> bool:
    """Make the task's store if it is missing or `force`; return whether it was made."""
    from lra import build
    from lra.settings import config

    spec, folder = build.build_spec(cfg), config.store_dir(cfg)
    from lra.data.manifest import MANIFEST, check_request, read_manifest

    there, version = (folder / MANIFEST).exists(), build.build_codec(cfg).version
    if there and not force:  # without a lock, because the folder of a prepared store may be read-only
        check_request(read_manifest(folder), folder, config.plain(cfg.task.data), cfg.source, version)
        return False
    if not there:
        console.print(f"preparing {cfg.task.name} size={cfg.size.name} …")
    from data_prep.prepare import prepare

    prepare(
        spec,
        config.plain(cfg.task.data),
        folder,
        open_source=lambda request: build.build_source(cfg)(request),  # built late: prepare checks first for TFDS
        version=version,
        source=cfg.source,
        verify=cfg.verify,
        force=force,
        command=" ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        console=console,
    )
    return True


def print_store(console: Console, folder: Path) -> None:
    """Print counts, lengths, label balance, size and preparation time of a store."""
    from lra.base.text import visible
    from lra.data.manifest import read_manifest
    from lra.terminal.console import size_text

    manifest = read_manifest(folder)
    for name, split in manifest["splits"].items():
        console.print(f"{name:<6}{split['count']:>8,} examples   {_lengths(split)}\n      labels {_labels(split)}")
    words = manifest.get("source", {}).get("vocabulary")
    if words:
        console.print(f"tokens are words: {len(words):,}, such as {', '.join(map(visible, words[1:6]))}")
    for key, only in manifest.get("source", {}).get("requires", {}).items():
        console.print(f"only for protocol.{key}={only}: the source has no more")
    size = sum(path.stat().st_size for path in folder.iterdir())
    console.print(f"{manifest['origin']}, {size_text(size)}, made in {manifest['seconds']:.0f} s: {folder}")


def _lengths(split: SplitFacts) -> str:
    quantile = split["length_quantiles"]
    return f"tokens {quantile['0']:,.0f} to {quantile['1']:,.0f}, median {quantile['0.5']:,.0f}"


def _labels(split: SplitFacts) -> str:
    return "  ".join(f"{label}: {count / split['count']:.1%}" for label, count in split["label_counts"].items())
