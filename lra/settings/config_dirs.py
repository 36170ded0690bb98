"""Folders of the user's own settings on the command line: `--config-dir FOLDER` and `hydra.searchpath=[…]`.

Hydra knows both for one run. Here they are added to $LRA_CONF_PATH, so that every verb and every worker finds them.
"""

import os
import re
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

from lra.base.paths import CONF_VARIABLE, environment, package_folder
from lra.base.printed_commands import CONFIG_DIR_FLAGS
from lra.types import UserError

SEARCH_PATH = re.compile(r"\+{0,2}hydra\.searchpath=\[(.*)\]")


def split_config_dirs(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split typed arguments into those for Hydra and the configuration folders that the others name.

    Raises:
        UserError: for a flag without a folder, and for a package that is not installed.
    """
    others, folders = [], []
    rest = iter(arguments)
    for argument in rest:
        flag, has_value, value = argument.partition("=")
        search = SEARCH_PATH.fullmatch(argument)
        if flag in CONFIG_DIR_FLAGS:
            folder = value if has_value else next(rest, "")
            if not folder:
                raise UserError(f"{argument} needs a folder that holds GROUP/NAME.yaml; type {flag} FOLDER")
            folders.append(folder)
        elif search:
            folders += [_folder_of(part.strip().strip("'\"")) for part in search[1].split(",") if part.strip()]
        else:
            others.append(argument)
    return others, folders


def added_config_dirs(folders: Sequence[str]) -> AbstractContextManager[None]:
    """Within this context, this process and its children search these folders for configuration files too."""
    search_path = [*(str(Path(folder).expanduser().resolve()) for folder in folders), os.environ.get(CONF_VARIABLE, "")]
    return environment({CONF_VARIABLE: os.pathsep.join(filter(None, search_path))} if folders else {})


def _folder_of(part: str) -> str:
    """Turn `file://FOLDER` or `pkg://package.folder` into a folder."""
    if not part.startswith("pkg://"):
        return part.removeprefix("file://")
    folder = package_folder(part.removeprefix("pkg://"))
    if folder is None:
        raise UserError(f"hydra.searchpath: {part} is no package that is installed here; or type file://FOLDER")
    return str(folder)
