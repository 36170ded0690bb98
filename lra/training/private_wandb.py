"""What `lra` uses of wandb that is not in its interface, tried with the version in `constraints.txt`.

`tests/house/test_private_doors.py` tells when something of it has moved.
"""

import os
from functools import cache
from pathlib import Path

import wandb
from wandb.sdk.lib.settings_file import SettingsFiles


@cache
def read_no_current_folder() -> None:
    """Make W&B read the user's own settings file alone, not `wandb/settings` in the current folder."""

    def read_own(self: wandb.Settings) -> SettingsFiles:
        own = Path(self.settings_system) if self.settings_system else None
        return SettingsFiles(global_settings=own, local_settings=Path(os.devnull))

    wandb.Settings.read_system_settings = read_own  # type: ignore[method-assign]  # before its first call in a process
