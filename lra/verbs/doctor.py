"""lra doctor: show what is installed, which folders are used, and what is missing and how to mend it.

  lra doctor

Environment variables choose the folders. LRA_DATA_DIR: prepared data. LRA_RUNS_DIR: runs. LRA_SOURCE_DIR: more folders
with archives. LRA_CONF_PATH: more folders with settings, such as attention/mine.yaml of your own.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import os
import platform
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from lra.base.paths import conf_dirs, source_dirs
from lra.terminal.console import make_console, size_text

if TYPE_CHECKING:
    from omegaconf import DictConfig

NEEDED_PACKAGES = ("torch", "pytorch-lightning", "torchmetrics", "hydra-core", "numpy")
OPTIONAL_PACKAGES = {
    "wandb": "without it type logger=csv, or: pip install wandb",
    "tensorflow-datasets": "only lra prepare needs it: pip install tensorflow-datasets array_record",
}


def run(cfg: DictConfig) -> None:
    """Print one line per fact; the line of a problem says what to do."""
    console = make_console()
    for good, what, text in _facts(Path(cfg.paths.data), Path(cfg.paths.runs)):
        word = ("ok   ", "green") if good else ("wrong", "red")
        console.print(Text.assemble(word, f" {what:<22} {text}"))


def _facts(data: Path, runs: Path) -> list[tuple[bool, str, str]]:
    lines = [(True, "python", f"{platform.python_version()} on {platform.platform()}")]
    lines += [(True, name, importlib.metadata.version(name)) for name in NEEDED_PACKAGES]
    lines += [_optional(name, remedy) for name, remedy in OPTIONAL_PACKAGES.items()]
    lines.append(_device())
    lines += [_folder("data (LRA_DATA_DIR)", data), _folder("runs (LRA_RUNS_DIR)", runs)]
    lines += [_conf(folder) for folder in conf_dirs()]
    lines += [_source(folder) for folder in source_dirs()]
    lines += _stores(data)
    lines.append(_wandb())
    return lines


def _optional(name: str, remedy: str) -> tuple[bool, str, str]:
    try:
        return True, name, importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return False, name, f"not installed; {remedy}"


def _device() -> tuple[bool, str, str]:
    import torch

    if torch.cuda.is_available():
        return True, "device", f"{torch.cuda.get_device_name()}: type trainer=gpu to use it"
    return True, "device", f"CPU, {torch.get_num_threads()} threads; no CUDA device is visible to torch"


def _folder(what: str, folder: Path) -> tuple[bool, str, str]:
    there = folder
    while not there.exists():
        there = there.parent
    if not there.is_dir() or not os.access(there, os.W_OK):
        variable = what[what.index("(") + 1 : -1]
        return False, what, f"{folder} cannot be written; choose another: export {variable}=/path/to/folder"
    remark = "" if there == folder else ", made when first needed"
    return True, what, f"{folder} ({size_text(shutil.disk_usage(there).free)} free{remark})"


def _conf(folder: Path) -> tuple[bool, str, str]:
    files = list(folder.glob("*/*.yaml"))
    groups = ", ".join(sorted({path.parent.name for path in files}))
    return True, "conf (LRA_CONF_PATH)", f"{folder}: {len(files)} files of {groups}"


def _source(folder: Path) -> tuple[bool, str, str]:
    there = sorted(path.name for path in folder.iterdir() if not path.name.startswith(".")) if folder.is_dir() else []
    archives = ", ".join(there) or "nothing there yet; archives put there are found by lra prepare"
    return True, "sources", f"{folder}: {archives}"


def _stores(data: Path) -> list[tuple[bool, str, str]]:
    from lra.data.manifest import read_manifest
    from lra.types import UserError

    folders = sorted(path.parent for path in (data / "stores").glob("*/*/manifest.json"))
    if not folders:
        return [(True, "prepared", "nothing yet; lra train prepares what it needs, or: lra prepare task=listops")]
    lines = []
    for folder in folders:
        what = f"prepared {folder.parent.name}"
        try:
            manifest = read_manifest(folder)
        except UserError as error:
            lines.append((False, what, str(error)))
            continue
        counts = " / ".join(f"{split['count']:,}" for split in manifest["splits"].values())
        lines.append((True, what, f"size={folder.name}  {counts}  {manifest['origin']}"))
    return lines


def _wandb() -> tuple[bool, str, str]:
    from lra.settings.config import wandb_mode

    mode = wandb_mode(os.environ.get("WANDB_MODE", ""))
    if mode == "online" and importlib.util.find_spec("wandb") is not None:
        from lra.training.wandb_server_and_files import server_trouble

        trouble = server_trouble()
        return trouble is None, "W&B", f"online (WANDB_MODE), {trouble or 'and its server answers'}"
    return (
        True,
        "W&B",
        f"{mode}; later: wandb sync RUN/wandb/offline-run-*, or train with logger.wandb.mode=online",
    )
