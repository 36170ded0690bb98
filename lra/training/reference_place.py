"""Say where a run is among its reference curves while it trains, and end it if asked to."""

from collections.abc import Callable

import pytorch_lightning as pl
from pytorch_lightning.callbacks import Callback
from rich.console import Console

from lra.base.arguments import Positive, checked
from lra.training.resume import DevPasses, passes_so_far


class ReferencePlace(Callback):
    """Prints where a run is among its reference curves whenever that changes; ends a run that resembles none of them.

    Args:
        slack: how late a run may converge, as a multiple of the step at which its slowest reference seed had; None: it
            is not ended. At 1 a run that would have converged is ended in at most one of n + 1 cases of n such seeds.
    """

    @checked
    def __init__(self, *, slack: Positive | None):
        self.slack = slack
        self._place: Callable[[DevPasses], tuple[str, float]] = lambda _: ("", 0.0)
        self._console, self._said = Console(quiet=True), ""

    def follow(self, place: Callable[[DevPasses], tuple[str, float]], console: Console) -> None:
        """Take the function that words the place of some dev passes, and says how late the run is; see `slack`."""
        self._place, self._console = place, console

    def on_validation_end(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        """Print the place if it is another, and end a run that is too late."""
        place, late = self._place(passes_so_far(trainer))
        counts = place.partition(";")[0]  # what follows names the step of this pass
        if counts != self._said:
            self._console.print(place, highlight=False)
            self._said = counts
        if self.slack is not None and late >= self.slack:
            when = "the step at which the slowest reference seed had converged"
            self._console.print(f"stopped at step {trainer.global_step}, {late:.2g} times {when}", highlight=False)
            trainer.should_stop = True
