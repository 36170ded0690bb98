"""The command that makes a store again, as a remedy prints it: with all that was typed and that `lra prepare` reads."""

from pathlib import Path

from lra.base.overrides import Overrides
from lra.base.paths import data_dir
from lra.base.printed_commands import command, override, typed_config_dirs, typed_overrides

STORES = "stores"  # the folder of all stores in the data folder
# Options that decide from what, where and how a store is made; a key with a dot stands for all options of a group.
KEPT = ("protocol", "protocol.", "task.", "paths.data", "source", "verify")


def size_of_store(folder: Path) -> str:
    """Return the size in the name of a store's folder, `full`, or `full-1a2b3c4d` with a hash of `data` settings."""
    return folder.name.partition("-")[0]


def prepare_command(folder: Path, *changes: str) -> str:
    """Write the command that makes the store in `folder`, whichever verb was typed.

    Args:
        folder: the store's folder, `…/stores/<task>/<size>`; of a probe `…/<size>-<hash of its data settings>`.
        changes: overrides in place of typed ones of the same key, or in addition.
    """
    changed = Overrides(changes).keys
    kept: list[str] = [*typed_overrides(*KEPT).without(*changed)]
    stores, named = folder.parent.parent, changed | typed_overrides(*KEPT).keys
    if stores.name == STORES and "paths.data" not in named and stores.parent.resolve() != data_dir().resolve():
        kept.append(override("paths.data", stores.parent))
    wanted = (override("task", folder.parent.name), override("size", size_of_store(folder)))
    return command("prepare", *wanted, *typed_config_dirs(), *kept, *changes)


def make_again(folder: Path) -> str:
    """Word the advice to make a wrong store again."""
    return f"make it again: {prepare_command(folder, override('force', True))}"
