"""Say where a run is among its reference curves while it trains."""

from collections.abc import Callable

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback
from rich.console import Console

from lra.training.resume import DevPasses, passes_so_far


class ReferencePlace(Callback):
    """Prints where a run is among its reference curves whenever that changes.

    Args:
        place_among_published: words the place of some dev passes.
        console: where it is printed.
    """

    def __init__(self, place_among_published: Callable[[DevPasses], str], console: Console):
        self._place_among_published, self._console, self._said = place_among_published, console, ""

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Print the place if it is another."""
        place_among_published = self._place_among_published(passes_so_far(trainer))
        counts = place_among_published.partition(";")[0]  # what follows names the step of this pass
        if counts != self._said:
            self._console.print(place_among_published, highlight=False)
            self._said = counts
