"""lra doctor: show what is installed, which folders are used, and what is missing and how to mend it.

  lra doctor
  lra doctor task=text                 the data of one task: what lies here, what is missing, and what to type
  lra doctor task=listops size=short   of another size

Environment variables choose the folders. LRA_DATA_DIR: prepared data. LRA_RUNS_DIR: runs. LRA_SOURCE_DIR: more folders
with archives. LRA_CONF_PATH: more folders with settings, such as attention/mine.yaml of your own.
"""

import importlib.metadata
import importlib.util
import os
import platform
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

from rich.console import Console
from rich.text import Text

from lra.base.option_types import nearest
from lra.base.overrides import Overrides
from lra.base.paths import conf_dirs, conf_names, source_dirs
from lra.base.printed_commands import (
    command,
    override,
    shell_command,
    typed_command,
    typed_config_dirs,
    typed_overrides,
)
from lra.base.probes import probe_named
from lra.base.text import size_text, visible
from lra.data.manifest import MANIFEST, read_manifest
from lra.data.prepare_again import STORES, size_of_store
from lra.from_config.store import data_found, how_to_get_data
from lra.settings.check import check_config
from lra.settings.check_overrides import check_overrides
from lra.settings.compose import default_choice, load_config, wandb_mode
from lra.settings.override_values import values_of
from lra.settings.read_override import read_override
from lra.settings.run_config import RunConfig
from lra.training.wandb_server import server_problem
from lra.types import UserError

NEEDED_PACKAGES = ("torch", "pytorch-lightning", "torchmetrics", "hydra-core", "numpy")
OPTIONAL_PACKAGES = {
    "wandb": "without it type logger=csv, or: pip install wandb",
    "tensorflow-datasets": "only lra prepare needs it: pip install tensorflow-datasets array_record",
}
OF_DATA = ("task", "size")  # config groups that choose whose data is shown
TINY = "tiny"  # the size whose data is a placeholder, where it cannot be drawn
State = Literal["ok", "missing", "wrong"]
COLOURS: dict[State, str] = {"ok": "green", "missing": "yellow", "wrong": "red"}


class Fact(NamedTuple):
    """A fact: whether it is as it should be, what it is about, and what it is, with what to type if it is not right."""

    state: State
    what: str
    text: str


@dataclass(frozen=True)
class Facts:
    """What is installed, used and missing."""

    facts: list[Fact]

    def show(self, console: Console) -> None:
        """Print a line for each fact; that of a problem says what to do."""
        for fact in self.facts:
            state = (f"{fact.state:<7}", COLOURS[fact.state])
            console.print(Text.assemble(state, visible(f" {fact.what:<22} {fact.text}")))


def main_reads(arguments: Sequence[str]) -> bool:
    """Tell whether these arguments ask for the data of some tasks."""
    has_flags = any(argument.startswith("-") for argument in arguments)
    return not has_flags and bool(Overrides(arguments).only(*OF_DATA))


def main(arguments: Sequence[str]) -> Facts:
    """Collect the facts on the data of the tasks that were typed, or of all at the size that was typed."""
    others = Overrides(arguments).without(*OF_DATA)
    cfg = load_config("doctor", check_overrides("doctor", others, sweep=False))
    check_config(cfg, "doctor")
    (size, *more), tasks = _chosen("size", arguments) or [default_choice("size")], _chosen("task", arguments)
    if more:
        right = [typed_command("doctor", override("size", each)) for each in (size, *more)]
        line = f"size={size},{','.join(more)} names several; type a command for each: {', '.join(right)}"
        raise UserError(line, kind="several_values", key="size", right=right)
    data = cfg.paths.data
    return Facts([*_data_folders(data), *_data_of(tasks or _whose_data_is_asked_for(data), size, data)])


def _chosen(group: str, arguments: Sequence[str]) -> list[str]:
    """Read the choices of a config group among typed arguments; none if it was not typed."""
    parsed = [read_override(argument) for argument in Overrides(arguments).only(group)]
    chosen = [str(value) for each in parsed for value in values_of(each)]
    known = conf_names(group)
    wrong = next((name for name in chosen if name not in known), None)
    if wrong is not None:
        line = f"{override(group, wrong)} is not known; {nearest(wrong, known)}"
        raise UserError(line, kind="unknown_choice", key=group, value=wrong, right=known)
    return chosen


def run(cfg: RunConfig) -> Facts:
    """Collect all facts."""
    return Facts(list(_facts(cfg.paths.data, cfg.paths.runs)))


def _facts(data: Path, runs: Path) -> Iterator[Fact]:
    """Yield all facts."""
    yield Fact("ok", "python", f"{platform.python_version()} on {platform.platform()}")
    for name in NEEDED_PACKAGES:
        yield Fact("ok", name, importlib.metadata.version(name))
    for name, remedy in OPTIONAL_PACKAGES.items():
        try:
            yield Fact("ok", name, importlib.metadata.version(name))
        except importlib.metadata.PackageNotFoundError:
            yield Fact("missing", name, f"not installed; {remedy}")
    yield Fact("ok", "device", _device())
    yield _folder("runs", "LRA_RUNS_DIR", runs)
    for folder in conf_dirs():
        files = list(folder.glob("*/*.yaml"))
        groups = ", ".join(sorted({path.parent.name for path in files}))
        yield Fact("ok", "conf (LRA_CONF_PATH)", f"{folder}: {len(files)} files of {groups}")
    yield from _data_folders(data)
    yield from _data_of(_whose_data_is_asked_for(data), default_choice("size"), data)
    mode = wandb_mode(os.environ.get("WANDB_MODE", ""))
    if mode == "online" and importlib.util.find_spec("wandb") is not None:
        try:
            problem = server_problem()
        except UserError as error:
            problem = str(error)
        yield Fact("wrong" if problem else "ok", "W&B", f"online (WANDB_MODE), {problem or 'and its server answers'}")
    else:
        later = "later: wandb sync RUN/wandb/offline-run-*, or train with logger.wandb.mode=online"
        yield Fact("ok", "W&B", f"{mode}; {later}")


def _device() -> str:
    import torch  # not for the data of one task, nor to say what was mistyped

    if torch.cuda.is_available():
        return f"{torch.cuda.get_device_name()}: type trainer=gpu to use it"
    return f"CPU, {torch.get_num_threads()} threads; no CUDA device is visible to torch"


def _data_folders(data: Path) -> Iterator[Fact]:
    """Yield where data lies, and where its sources are looked for."""
    yield _folder("data", "LRA_DATA_DIR", data)
    for folder in source_dirs():
        names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
        archives = ", ".join(name for name in names if not name.startswith("."))
        yield Fact("ok", "sources", f"{folder}: {archives or 'empty; archives that you put there are found'}")


def _whose_data_is_asked_for(data: Path) -> list[str]:
    """List the tasks, and of probes, whose data is drawn in seconds when it is needed, those that are prepared."""
    return [task for task in conf_names("task") if not probe_named(task) or (data / STORES / task).is_dir()]


def _data_of(tasks: Sequence[str], size: str, data: Path) -> Iterator[Fact]:
    """Yield of each task which forms of its data lie here, or how it can be had, and each prepared size."""
    forms = data_found()
    for task in tasks:
        stores = sorted(path.parent for path in (data / STORES / task).glob(f"*/{MANIFEST}"))
        is_prepared = size in map(size_of_store, stores)
        prepare = command(
            "prepare",
            *typed_config_dirs(),
            override("task", task),
            *([] if size == default_choice("size") else [override("size", size)]),
            *typed_overrides("paths.data"),
        )
        if task in forms:
            yield _form(task, forms[task], size, prepare, is_prepared=is_prepared)
        for folder in stores:
            yield _store(folder)
        if not is_prepared and (task not in forms or forms[task]):
            yield Fact("missing", f"prepared {task}", f"not at size={size}; type: {prepare}")


def _form(task: str, paths: Sequence[Path], size: str, prepare: str, *, is_prepared: bool) -> Fact:
    """Say which forms of a task's data lie here; of data that is not prepared either, how it can be had."""
    what, nothing = f"forms of {task}", "none of its forms lies here"
    if paths:
        return Fact("ok", what, ", ".join(map(str, paths)))
    if is_prepared:
        return Fact("ok", what, f"{nothing}, and none is needed: size={size} is prepared")
    if size == TINY:
        return Fact("missing", what, f"{nothing}; size={TINY} needs none: {prepare}")
    return Fact("missing", what, f"{nothing}; {how_to_get_data(task, prepare)}")


def _store(folder: Path) -> Fact:
    """Say what a prepared store holds."""
    what = f"prepared {folder.parent.name}"
    try:
        manifest = read_manifest(folder)
    except UserError as error:
        return Fact("wrong", what, str(error))
    counts = " / ".join(f"{split['count']:,}" for split in manifest["splits"].values())
    return Fact("ok", what, f"size={size_of_store(folder)}  {counts}  {manifest['origin']}")


def _folder(holds: str, variable: str, folder: Path) -> Fact:
    what = f"{holds} ({variable})"
    there = next(path for path in (folder, *folder.parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK):
        right = shell_command("export", f"{variable}=/path/to/folder")
        return Fact("wrong", what, f"{folder} cannot be written; choose another: {right}")
    remark = "" if there == folder else ", made when first needed"
    return Fact("ok", what, f"{folder} ({size_text(shutil.disk_usage(there).free)} free{remark})")
