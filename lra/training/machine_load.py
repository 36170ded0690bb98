"""Say once when the machine of a run has more to do than its cores can."""

import os
import time

from pytorch_lightning.callbacks import Callback
from rich.console import Console

from lra.base.processes import WARNING

AFTER_SECONDS = 60.0  # of a load that is too high
MARGIN = 0.5  # above the cores: a run that has the machine for itself reaches their number


class MachineLoad(Callback):
    """Prints one line when the load has been above the number of cores for a minute.

    The load is the system's own mean of the last minute: how many threads ran or waited for a core.
    """

    def __init__(self, console: Console):
        self.console = console
        self._high_since: float | None = None
        self._said = False

    def on_train_batch_end(self, *_: object) -> None:
        """Read the load after each batch, which costs microseconds."""
        if self._said:
            return
        load, cores, now = os.getloadavg()[0], os.cpu_count() or 1, time.monotonic()
        if load <= cores + MARGIN:
            self._high_since = None
        elif self._high_since is None:
            self._high_since = now
        elif now - self._high_since >= AFTER_SECONDS:
            self._said = True
            busy = f"{WARNING}the machine is busy: a load of {load:.1f} on {cores} cores."
            self.console.print(f"{busy} Steps are slower than on an idle machine.", highlight=False)
