"""W&B's settings of this process: from the environment and the user's own file, never from the current folder.

W&B also reads `wandb/settings` in the current folder, which anybody may have put there: its `base_url` would get the
user's API key. What W&B refuses in the environment is one line here, without passwords.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from lra.base.text import HIDDEN
from lra.types import UserError

if TYPE_CHECKING:
    import wandb

PREFIX = "WANDB_"
SECRETS = re.compile(r"KEY|TOKEN|PASSWORD|SECRET|HEADERS|CREDENTIALS")  # in names of variables that are never shown
BEFORE_HOST = re.compile(r"(?<=://)\S*@|^(?!\w+://)\S*@")  # user and password, also where no scheme says that they are
HERE = Path("wandb/settings")
SERVER = "https://HOST"


def session_settings() -> wandb.Settings:
    """Read W&B's settings once in a process, and return them.

    Raises:
        UserError: for an environment variable that W&B refuses.
    """
    import wandb

    from lra.training import private_wandb  # imports wandb, which is slow

    private_wandb.read_no_current_folder()
    check_environment()
    # Without `silent`, W&B prints where it found a key.
    return wandb.setup(settings=wandb.Settings(silent=True)).settings


def warn_of_current_folder() -> None:
    """Say on standard error that settings of W&B in the current folder have no effect, if there are some."""
    if HERE.is_file():
        print(
            f"W&B: {HERE} in the current folder is not read; type logger.wandb.mode=… or logger=csv, or set W&B's"
            " environment variables",
            file=sys.stderr,
        )


def check_environment() -> None:
    """Refuse an environment variable that W&B's settings refuse, such as an address without a scheme.

    Raises:
        UserError: for the first one, in alphabetical order.
    """
    import wandb
    from wandb.errors import UsageError

    for variable, value in sorted(os.environ.items()):
        if variable.startswith(PREFIX):
            try:
                wandb.Settings(silent=True).update_from_env_vars({variable: value})
            except (ValueError, TypeError, UsageError) as error:  # pydantic's errors are ValueErrors
                raise _refused(variable, value, error) from None


def _refused(variable: str, value: str, error: Exception) -> UserError:
    """Word what W&B refuses; a secret is not shown, and of an address neither user nor password."""
    if SECRETS.search(variable):
        line = f"W&B refuses the value of {variable} (not shown here); type: unset {variable}, or set it again"
        return UserError(line, kind="wandb_refuses", key=variable)
    shown = without_user(value)
    if "URL" in variable or "PROXY" in variable:
        line = f"{variable}={shown} is no address that W&B takes; type: export {variable}={SERVER}, or unset {variable}"
        return UserError(line, kind="wandb_refuses", key=variable, value=shown, right=SERVER)
    details = getattr(error, "errors", None)  # of pydantic
    why = str(details()[0]["msg"] if callable(details) else error).replace(value or "\0", shown)
    line = f"{variable}={shown} is refused by W&B ({why}); type: unset {variable}, or set it to what W&B takes"
    return UserError(line, kind="wandb_refuses", key=variable, value=shown)


def without_user(address: str) -> str:
    """Return an address, which may lack its scheme, with `***` in place of user name and password."""
    return BEFORE_HOST.sub(HIDDEN, address)
