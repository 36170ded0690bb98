"""lra prepare: make a task's data: download or generate, pack, check.

  lra prepare task=listops                        96,000 / 2,000 / 2,000 sequences, generated
  lra prepare task=text                           IMDb: found in the folders of lra doctor, else downloaded (84 MB)
  lra prepare task=image source=~/cifar-10-python.tar.gz
  lra prepare task=pathfinder source=generate     200,000 images
  lra prepare task=pathfinder source=~/lra_release task.split=seed42
  lra prepare task=retrieval source=~/lra_release.gz
  lra prepare task=text source=my.tar.gz verify=false
                                                  an archive with another hash than the published one
  lra prepare task=listops check=true             rehash every array of the store that is there
  lra prepare task=listops force=true             make it again
  lra prepare -m task=listops size=demo,tiny      several

  source=auto       the folders of lra doctor; then generates or downloads; size=tiny makes a stand-in
  source=download   text, image            source=generate   listops, pathfinder, pathx
  source=PATH       a published archive, or the folder it was unpacked into

The store goes under $LRA_DATA_DIR (lra doctor names the folder). What is there already is not made again.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omegaconf import DictConfig
    from rich.console import Console

    from lra.data.manifest import SplitFacts


def run(cfg: DictConfig) -> None:
    """Make the store, or check the one that is there."""
    from lra import config
    from lra.commands.console import make_console
    from lra.data.store import verify_store

    console = make_console()
    if cfg.check:
        verify_store(config.store_dir(cfg))
        console.print(f"every array is what it was when it was made: {config.store_dir(cfg)}")
        return
    made = ensure_store(cfg, console, force=cfg.force)
    if not made:
        from data_prep.unfinished import remove_leftovers

        remove_leftovers(config.store_dir(cfg))
        console.print("prepared already; force=true makes it again")
    print_store(console, config.store_dir(cfg))


def ensure_store(cfg: DictConfig, console: Console, *, force: bool = False) -> bool:
    """Make the task's store if it is missing; returns whether it had to be made."""
    from lra import build, config

    spec, folder = build.build_spec(cfg), config.store_dir(cfg)
    from lra.data.manifest import MANIFEST, check_asked, read_manifest

    there, version = (folder / MANIFEST).exists(), build.build_codec(cfg).version
    if there and not force:  # before any lock: a prepared store may lie where nothing can be written
        check_asked(read_manifest(folder), folder, config.plain(cfg.task.data), cfg.source, version)
        return False
    if not there:
        console.print(f"preparing {cfg.task.name} size={cfg.size.name} …")
    from data_prep.prepare import prepare

    prepare(
        spec,
        config.plain(cfg.task.data),
        folder,
        open_source=lambda request: build.build_source(cfg)(request),  # not before TFDS is known to be there
        version=version,
        source=cfg.source,
        verify=cfg.verify,
        force=force,
        command=" ".join([Path(sys.argv[0]).name, *sys.argv[1:]]),
        console=console,
    )
    return True


def print_store(console: Console, folder: Path) -> None:
    """Print counts, lengths, label balance, size and seconds of a store."""
    from lra.commands.console import size_text
    from lra.data.manifest import read_manifest

    manifest = read_manifest(folder)
    for name, split in manifest["splits"].items():
        console.print(f"{name:<6}{split['count']:>8,} examples   {_lengths(split)}\n      labels {_labels(split)}")
    size = sum(path.stat().st_size for path in folder.iterdir())
    console.print(f"{manifest['origin']}, {size_text(size)}, made in {manifest['seconds']:.0f} s: {folder}")


def _lengths(split: SplitFacts) -> str:
    quantile = split["length_quantiles"]
    return f"tokens {quantile['0']:,.0f} to {quantile['1']:,.0f}, median {quantile['0.5']:,.0f}"


def _labels(split: SplitFacts) -> str:
    return "  ".join(f"{label}: {count / split['count']:.1%}" for label, count in split["label_counts"].items())
