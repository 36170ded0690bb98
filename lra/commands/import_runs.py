"""lra import: bring runs of another machine into this one's folder of runs.

  lra import /mnt/cluster/runs            a whole folder of runs
  lra import results.jsonl                records alone, as lra publish writes them
  lra import /mnt/cluster/runs into=table all of them into one run group

Every record is checked first; broken ones are named and left where they are. A run that is here already stays as it
is, and is named if the two differ. Of a run's folder its record, configuration, curves, picture and best weights come
along; W&B runs and resume points do not.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from lra.paths import run_folder
from lra.types import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig

FILES = ("config.yaml", "data.json", "metrics.csv", "curve.png", "best.ckpt", "wandb_id")


def overrides(words: list[str]) -> list[str]:
    """Turn a leading path into `from=PATH`."""
    if words and "=" not in words[0] and not words[0].startswith("-"):
        quoted = words[0].replace("'", r"\'")
        return [f"from='{quoted}'", *words[1:]]
    return words


def run(cfg: DictConfig) -> None:
    """Copy what is new."""
    from lra.commands.console import make_console
    from lra.results.collect import collect, describe
    from lra.results.record import read_record

    if cfg["from"] is None:
        raise UserError("import what? type for example: lra import /mnt/other/runs")
    place = Path(cfg["from"]).expanduser()
    if not place.exists():
        raise UserError(f"{place} is not there; type the folder of runs, or the .jsonl file, to import")
    found, console = collect(place), make_console()
    copied, same = 0, 0
    for record, source in zip(found.records, found.sources, strict=True):
        folder = _folder(Path(cfg.paths.runs), record, cfg.into)
        there = read_record(folder)
        if there is None:
            _copy(source, record, folder)
            copied += 1
        elif there == record:
            same += 1
        else:
            found.troubles.append(f"left out: {describe(record)} is here already, with another result: {folder}")
    for trouble in found.troubles:
        console.print(trouble)
    console.print(f"{copied} runs imported, {same} were here, {len(found.troubles)} left out: {cfg.paths.runs}")


def _folder(runs: Path, record: dict[str, Any], into: str | None) -> Path:
    """Where `lra train` would have put the run."""
    identity = record["identity"]
    names: dict[str, Any] = {
        "group": str(into or identity["run_group"]),
        "task": identity["task"],
        "attention": identity["attention"],
        "protocol": identity["protocol"]["name"],
        "size": identity["size"],
        "steps": record["outcome"]["steps"],
        "config_hash": record["provenance"]["config_hash"],
        "seed": identity["seed"],
    }
    for name in map(str, names.values()):  # a record from elsewhere must not say where on this disk it goes
        if not name or name.startswith(".") or any(sign in name for sign in "/\\\0"):
            raise UserError(f"a record names itself {name!r}, which is no name for a folder; it is not imported")
    return run_folder(runs, **names)


def _copy(source: Path, record: dict[str, Any], folder: Path) -> None:
    """The record last: a run counts as there only when it is whole."""
    from lra.results.record import FILE, write_record

    folder.mkdir(parents=True, exist_ok=True)
    if source.name == FILE:
        for name in FILES:
            path = source.parent / name
            if path.is_file() and not path.is_symlink():
                shutil.copyfile(path, folder / f"{name}.unfinished")
                (folder / f"{name}.unfinished").replace(folder / name)
    write_record(folder, record)
