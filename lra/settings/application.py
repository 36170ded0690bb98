"""Run a command in Hydra's application; one run has the configuration that was composed to check its overrides."""

import functools
import os
import sys
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path

import hydra
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.types import RunMode
from omegaconf import DictConfig, OmegaConf

from lra.base.files import delete_with_empty_parents
from lra.base.overrides import Overrides
from lra.settings.check import check_config
from lra.settings.compose import (
    CONF,
    compose_config,
    load_config,
    look_through_own_folders,
    without_descriptions,
)
from lra.settings.override_values import parse
from lra.settings.private_hydra import application, flags_parser
from lra.settings.run_config import RunConfig
from lra.settings.several_values import ONE_OF_SEVERAL
from lra.settings.unknown_option import unknown_flag
from lra.types import UserError

MULTIRUN = ("-m", "--multirun")
ONE_RUN_FLAGS = ("--cfg", "-c", "--info", "-i")  # Hydra's flags that print something in place of running
PRINTING = {"cfg", "package", "resolve"}  # names of Hydra's flags that print the configuration


def run_command(verb: str, flags: Sequence[str], overrides: Sequence[str], run: Callable[[RunConfig], object]) -> None:
    """Let Hydra run a command once, or with `-m` among its `flags` each of its runs: call `run` with a configuration.

    Raises:
        UserError: for settings that contradict each other, before Hydra makes a folder; as `run` does.
    """

    @functools.wraps(run)  # Hydra names the job after the module
    def with_types(composed: DictConfig) -> object:
        return run(RunConfig(without_descriptions(composed)))  # Hydra composes the jobs of a sweep itself

    sys.argv = [f"lra {verb}", *flags, *overrides]
    if any(flag in MULTIRUN for flag in flags):
        _launch(verb, with_types)
    elif not _run_composed(verb, flags, overrides, with_types):
        check_config(load_config(verb, overrides), verb)
        with _no_hydra_folder_if_refused(verb, overrides):
            _launch(verb, with_types)


def _launch(verb: str, task: Callable[[DictConfig], object]) -> None:
    """Hand the arguments of this process to Hydra, which composes and launches; `task` gets what it has composed."""
    os.environ["HYDRA_FULL_ERROR"] = "1"  # it then raises errors instead of printing them, and they get lra's words
    hydra.main(version_base="1.3", config_path=str(CONF), config_name=verb)(task)()


def complete_by_hydra(verb: str, request: str) -> None:
    """Let Hydra answer a shell's request for completion, such as `query=bash`, with the configuration of a verb."""

    def never(cfg: DictConfig) -> None:
        raise AssertionError("Hydra answers by itself")

    look_through_own_folders()
    sys.argv = ["lra", "-sc", request]
    _launch(verb, never)


def _run_composed(
    verb: str, flags: Sequence[str], overrides: Sequence[str], run: Callable[[DictConfig], object]
) -> bool:
    """Do what `hydra.main` does with one run, or with `--cfg`, without composing twice more.

    Args:
        verb: the verb, which names the configuration.
        flags: Hydra's flags with their values.
        overrides: as typed.
        run: is called with the configuration.

    Returns:
        Whether it was done. The rest is left to `hydra.main`: other flags, settings of Hydra itself, several runs.
    """
    arguments = read_flags(flags, verb)
    given = {name for name, value in vars(arguments).items() if value}
    prints_only = "cfg" in given and given <= PRINTING
    of_hydra = any(parse(each).is_hydra_override() for each in overrides if each != ONE_OF_SEVERAL)
    if of_hydra or (given and not prints_only):
        return False
    composed = compose_config(verb, overrides, with_hydra=True)
    if composed.hydra.mode is RunMode.MULTIRUN:  # of a sweep's file
        return False
    command = application(verb, CONF, composed)
    try:
        if prints_only:
            command.show_cfg(verb, list(overrides), arguments.cfg, arguments.package, arguments.resolve)
        else:
            command.run(verb, run, list(overrides))
    finally:
        GlobalHydra.instance().clear()
    return True


def is_one_of_several() -> bool:
    """Tell whether the command that Hydra runs is one of a sweep, `-m`."""
    return HydraConfig.get().mode is RunMode.MULTIRUN


def own_overrides() -> Overrides:
    """The overrides of the command that Hydra runs, of a sweep those of this one."""
    return Overrides(HydraConfig.get().overrides.task)


@contextmanager
def _no_hydra_folder_if_refused(verb: str, overrides: Sequence[str]) -> Iterator[None]:
    """Delete the folder that Hydra makes for one run, `hydra.run.dir`, if the run is refused in this context.

    Only a new folder that holds nothing but Hydra's own files is deleted, and those above it that are new and empty.
    """
    of_hydra = compose_config(verb, overrides, with_hydra=True).hydra
    run_dir = Path(of_hydra.run.dir).absolute()
    there_before = {folder for folder in (run_dir, *run_dir.parents) if folder.exists()}
    try:
        yield
    except BaseException as error:  # an error of a command is carried past Hydra by one that is no Exception
        cause = error.args[0] if error.args else error
        named = HydraConfig.initialized() and not OmegaConf.is_missing(HydraConfig.get().runtime, "output_dir")
        made = Path(HydraConfig.get().runtime.output_dir) if named else run_dir  # it may have the time in its name
        own = made / (of_hydra.output_subdir or "")
        if isinstance(cause, UserError) and made not in there_before and made.is_dir() and {*made.iterdir()} <= {own}:
            delete_with_empty_parents(made, (above for above in made.parents if above not in there_before))
        raise


def read_flags(flags: Sequence[str], verb: str) -> Namespace:
    """Read Hydra's flags with their values.

    Raises:
        UserError: in place of argparse's usage, for what is no flag of Hydra's, or has a wrong value.
    """
    said = StringIO()
    try:
        with redirect_stderr(said):
            return flags_parser().parse_args(list(flags))
    except SystemExit as end:
        if not end.code:  # such as --version
            raise
        problem = said.getvalue().strip().rpartition("error: ")[2]
        first = next((index for index, flag in enumerate(flags) if flag.startswith("--")), 0)
        raise unknown_flag(flags[first:], verb, problem, load_config(verb)) from None
