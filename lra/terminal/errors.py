"""Word every error as one line that says what went wrong and what to type."""

import errno
import importlib.util
import os
import re
import sys
import traceback

import yaml

from lra.base.files import DISK_FULL
from lra.base.printed_commands import shell_command
from lra.base.processes import is_out_of_memory
from lra.base.text import without_credentials
from lra.types import UserError

FOLDER_PROBLEMS = {
    errno.ENOSPC: "no space is left",
    errno.EDQUOT: "the disk quota is used up",
    errno.EACCES: "the folder cannot be written",
    errno.EPERM: "the folder cannot be written",
    errno.EROFS: "the folder is read-only",
    errno.ENOTDIR: "a file is where a folder should be",
    errno.EEXIST: "a file is where a folder should be",
    errno.EISDIR: "a folder is where a file should be",
    errno.EFBIG: "a file would be larger than is allowed",
    errno.ENOLCK: "files cannot be locked on this file system (flock)",
    errno.EOPNOTSUPP: "files cannot be locked on this file system (flock)",
    errno.ENOENT: "there is no such file or folder, and it cannot be made",
}
HYDRAS = "hydra.errors.HydraException"
OMEGACONFS = "omegaconf.errors.OmegaConfBaseException"
LIGHTNINGS = "lightning_fabric.utilities.exceptions.MisconfigurationException"
NOT_FORESEEN = "not foreseen"  # said of any other error
TARGET_NOT_FOUND = re.compile(r"Error locating target '([^']+)'")
MISSING_SIZE = re.compile(r"Interpolation key 'task\.sizes\.([^']+)' not found")


def _target_line(target: str, error: BaseException | None) -> str:
    """Word why a dotted name, such as `my_package.attention.Mine`, was not found; `error` ended Hydra's search."""
    module = target.partition(".")[0]
    if not module or importlib.util.find_spec(module) is None:
        return (
            f"_target_: {target}: Python finds no module {module}; install its package (in its folder:"
            " pip install -e .) or name the folder that holds it: export PYTHONPATH=/path/to/folder"
        )
    holder, _, name = target.rpartition(".")
    found = sys.modules.get(holder)
    if found is not None and not hasattr(found, name):
        own = [each for each, value in vars(found).items() if getattr(value, "__module__", None) == holder]
        return f"_target_: {target}: {holder} has no {name}; name what it has: {', '.join(own) or 'nothing'}"
    cause = (error and error.__cause__) or error  # what the user's module, or the look for a name in it, raised
    return f"_target_: {target}: importing it fails with {type(cause).__name__}: {' '.join(str(cause).split())}"


def users_error(error: BaseException | None) -> UserError | None:
    """Find the user's mistake that an error tells of: Hydra wraps what its constructors and resolvers raise."""
    while error is not None and not isinstance(error, UserError):
        wraps = _is_a(error, HYDRAS, OMEGACONFS)  # not always with a cause
        error = error.__cause__ or (error.__context__ if wraps else None)
    return error


def explain(error: BaseException) -> str:
    """Word an error for the user, without passwords; the line of an unexpected error tells how to get its traceback."""
    return without_credentials(_in_words(error))


def _in_words(error: BaseException) -> str:
    users = users_error(error)
    if users is not None:
        return str(users)
    if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark is not None:
        mark = error.problem_mark
        return f"{mark.name} cannot be read as YAML: line {mark.line + 1}, {error.problem}"
    target = TARGET_NOT_FOUND.search(str(error))
    if _is_a(error, "hydra.errors.InstantiationException") and target:
        return _target_line(target[1], error.__cause__)
    size = MISSING_SIZE.search(str(error))
    if _is_a(error, OMEGACONFS) and size:
        return f"the task has no size={size[1]}; type another, or add {size[1]} to the sizes in the task's YAML file"
    if "INTERVAL_SWEEP" in str(error):
        return "an interval has no list of values to run; to draw from it type: lra tune"
    if _is_a(error, OMEGACONFS) or type(error).__module__.startswith("hydra."):
        return _first_lines(error)
    if isinstance(error, OSError) and error.errno in FOLDER_PROBLEMS:
        path = error.filename2 or error.filename  # `filename2` is the target of a copy
        if isinstance(error, PermissionError) and path and not _can_be_read(path):
            allow = shell_command("chmod", "u+rX", path)
            return f"cannot be read: {path}; allow it with: {allow}, or name another file"
        return _folder_line(FOLDER_PROBLEMS[error.errno] + (f" at {path}" if path else ""))
    full = next((number for number in DISK_FULL if os.strerror(number) in str(error)), None)
    if full is not None:  # array_record and safetensors raise no OSError
        return _folder_line(f"{FOLDER_PROBLEMS[full]} ({type(error).__name__})")
    if _is_a(error, LIGHTNINGS):
        return f"Lightning refuses these settings: {_first_lines(error)}"
    if is_out_of_memory(error):
        return (
            "out of memory; what was there before is kept. Smaller batches for a look at the model: size=tiny;"
            " a run's own batch in parts: trainer.accumulate_grad_batches=4"
        )
    if _is_raised_by_hydra(error):
        return f"Hydra cannot compose this ({type(error).__name__}); look at the defaults lists of your own YAML files"
    return f"{type(error).__name__}: {error} ({NOT_FORESEEN}; LRA_DEBUG=1 in front of the command shows where)"


def _is_raised_by_hydra(error: BaseException) -> bool:
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and frames[-1].f_globals.get("__name__", "").startswith("hydra.")


def _is_a(error: BaseException, *kinds: str) -> bool:
    """Tell whether an error is of a kind, named with its module, without an import of it, which may take seconds."""
    return any(f"{kind.__module__}.{kind.__name__}" in kinds for kind in type(error).__mro__)


def _can_be_read(path: str) -> bool:
    """Tell whether a file may be read: the system's error is the same for reading and for writing."""
    try:
        os.close(os.open(path, os.O_RDONLY | os.O_NONBLOCK))
    except OSError as error:
        return not isinstance(error, PermissionError)
    return True


def _folder_line(problem: str) -> str:
    return (
        f"{problem}; what was there before is kept. lra doctor names the folders;"
        " others: export LRA_DATA_DIR=… or LRA_RUNS_DIR=…"
    )


def _first_lines(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines()]
    return " ".join(line for line in lines if line and not line.startswith(("full_key:", "object_type=")))
