"""lra prepare: make a task's data: download or generate it, pack it into a store, check the store.

  lra prepare task=listops                        96,000 / 2,000 / 2,000 sequences, generated
  lra prepare task=text                           IMDb, from the folders that lra doctor lists, or downloaded (84 MB)
  lra prepare task=image source=~/cifar-10-python.tar.gz
  lra prepare task=pathfinder source=generate     200,000 images
  lra prepare task=pathfinder source=~/lra_release task.split=seed42
  lra prepare task=retrieval source=~/lra_release.gz
  lra prepare task=listops source=~/pickles       pickles of the Nyströmformer repository
  lra prepare task=image source=~/.cache/huggingface/hub
                                                  parquet of uoft-cs/cifar10; of stanfordnlp/imdb for task=text
  lra prepare task=text source=my.tar.gz verify=false
                                                  accept an archive whose hash is not the published one
  lra prepare task=listops check=true             compare every array of the existing store with its hash
  lra prepare task=listops force=true             make the store again
  lra prepare -m task=listops size=short,tiny     several stores

  source=auto       from the folders that lra doctor lists, else generated or downloaded; size=tiny: placeholder data
  source=download   text, image            source=generate   listops, pathfinder, pathx
  source=PATH       a published archive, the folder it was unpacked into, parquet of the Hugging Face hub, or pickles

The store goes under $LRA_DATA_DIR (lra doctor names the folder). An existing store is kept unless force=true.
"""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from data_prep.download import MISSING
from data_prep.forms import FORMS, missing_data
from data_prep.prepare import remove_leftovers
from lra.base.paths import source_dirs
from lra.data.store import verify_store
from lra.from_config.store import ensure_store, print_store
from lra.settings.run_config import RunConfig
from lra.settings.which_run import store_dir
from lra.terminal.console import make_console
from lra.types import UserError


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A task's store: whether it was made now, and whether it was there and each array was compared with its hash."""

    folder: Path
    made: bool = False
    checked: bool = False

    def show(self, console: Console) -> None:
        """Print what the store holds, or that nothing in it has changed."""
        if self.checked:
            console.print(f"every array is what it was when it was made: {self.folder}")
            return
        if not self.made:
            console.print("prepared already; force=true makes it again")
        print_store(console, self.folder)


def run(cfg: RunConfig) -> Prepared:
    """Make the store, or check the existing one; where its data is missing, say in five lines where it can be had."""
    console, folder = make_console(), store_dir(cfg)
    if cfg.check:
        verify_store(folder)
        return Prepared(folder=folder, checked=True)
    try:
        made = ensure_store(cfg, console, force=cfg.force)
    except UserError as error:
        if error.kind == MISSING and cfg.task.name in FORMS:
            for line in missing_data(cfg.task.name, source_dirs()):
                console.print(line, soft_wrap=True, highlight=False)
        raise
    if not made:
        remove_leftovers(folder)
    return Prepared(folder=folder, made=made)
