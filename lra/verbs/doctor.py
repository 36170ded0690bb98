"""lra doctor: show what is installed, which folders are used, and what is missing and how to mend it.

  lra doctor

Environment variables choose the folders. LRA_DATA_DIR: prepared data. LRA_RUNS_DIR: runs. LRA_SOURCE_DIR: more folders
with archives. LRA_CONF_PATH: more folders with settings, such as attention/mine.yaml of your own.
"""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
from collections.abc import Iterator
from pathlib import Path

import torch
from omegaconf import DictConfig
from rich.text import Text

from lra.base.paths import conf_dirs, source_dirs
from lra.base.text import size_text
from lra.build.store import data_found
from lra.data.manifest import read_manifest
from lra.settings.config import wandb_mode
from lra.terminal.console import make_console
from lra.training.wandb_server_and_files import server_trouble
from lra.types import UserError

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


def _facts(data: Path, runs: Path) -> Iterator[tuple[bool, str, str]]:
    """Yield whether a fact is as it should be, what it is about, and the fact."""
    yield True, "python", f"{platform.python_version()} on {platform.platform()}"
    for name in NEEDED_PACKAGES:
        yield True, name, importlib.metadata.version(name)
    for name, remedy in OPTIONAL_PACKAGES.items():
        try:
            yield True, name, importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            yield False, name, f"not installed; {remedy}"
    device = f"CPU, {torch.get_num_threads()} threads; no CUDA device is visible to torch"
    if torch.cuda.is_available():
        device = f"{torch.cuda.get_device_name()}: type trainer=gpu to use it"
    yield True, "device", device
    yield _folder("data", "LRA_DATA_DIR", data)
    yield _folder("runs", "LRA_RUNS_DIR", runs)
    for folder in conf_dirs():
        files = list(folder.glob("*/*.yaml"))
        groups = ", ".join(sorted({path.parent.name for path in files}))
        yield True, "conf (LRA_CONF_PATH)", f"{folder}: {len(files)} files of {groups}"
    for folder in source_dirs():
        names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        archives = ", ".join(name for name in names if not name.startswith("."))
        nothing = "nothing there yet; archives put there are found by lra prepare"
        yield True, "sources", f"{folder}: {archives or nothing}"
    for task, places in data_found().items():
        nothing = f"none of its forms; lra prepare task={task} generates it, or says where it can be had"
        yield True, f"forms of {task}", ", ".join(map(str, places)) or nothing
    yield from _stores(data)
    mode = wandb_mode(os.environ.get("WANDB_MODE", ""))
    if mode == "online" and importlib.util.find_spec("wandb") is not None:
        try:
            trouble = server_trouble()
        except UserError as error:
            trouble = str(error)
        yield trouble is None, "W&B", f"online (WANDB_MODE), {trouble or 'and its server answers'}"
    else:
        later = "later: wandb sync RUN/wandb/offline-run-*, or train with logger.wandb.mode=online"
        yield True, "W&B", f"{mode}; {later}"


def _folder(holds: str, variable: str, folder: Path) -> tuple[bool, str, str]:
    what = f"{holds} ({variable})"
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        return False, what, f"{folder} cannot be written; choose another: export {variable}=/path/to/folder"
    remark = "" if there == folder else ", made when first needed"
    return True, what, f"{folder} ({size_text(shutil.disk_usage(there).free)} free{remark})"


def _stores(data: Path) -> Iterator[tuple[bool, str, str]]:
    folders = sorted(path.parent for path in (data / "stores").glob("*/*/manifest.json"))
    if not folders:
        yield True, "prepared", "nothing yet; lra train prepares what it needs, or: lra prepare task=listops"
    for folder in folders:
        what = f"prepared {folder.parent.name}"
        try:
            manifest = read_manifest(folder)
        except UserError as error:
            yield False, what, str(error)
            continue
        counts = " / ".join(f"{split['count']:,}" for split in manifest["splits"].values())
        yield True, what, f"size={folder.name}  {counts}  {manifest['origin']}"
