"""The table at the end of `lra train -m`: each run with its result, or why it has none."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import TYPE_CHECKING

from lra.base.overrides import Overrides
from lra.run import Run
from lra.settings.compose import load_config
from lra.settings.override_values import parse, product_of
from lra.settings.run_config import RunConfig

if TYPE_CHECKING:  # slow, and a run alone ends with no table
    from rich.console import Console

    from lra.runs.schema import Record
    from lra.terminal.text_table import TextTable

IN_OTHER_COLUMNS = ("task", "attention", "mixer", "seed")  # overrides that a row names anyway


@dataclass
class Job:
    """One run of a sweep: its configuration, what was typed for it, such as `seed=1`, and the line of its error.

    `elsewhere`: it ran in another process.
    """

    cfg: RunConfig
    overrides: Overrides
    error: str | None = None
    elsewhere: bool = False

    @property
    def record(self) -> Record | None:
        """The record of the run; None if it failed, or stopped before its end."""
        return None if self.error else Run.of(self.cfg).record


def jobs_elsewhere(overrides: Overrides) -> list[Job]:
    """List the runs of a sweep that a launcher has run in other processes; none if not even one was begun.

    What a file of `sweep=` varies is not typed, so such a sweep has none here.
    """
    typed = Overrides(each for each in overrides if not parse(each).is_hydra_override())
    if typed.only("sweep"):
        return []
    jobs = [Job(load_config("train", job), job, elsewhere=True) for job in product_of(typed)]
    return jobs if any(Run.of(job.cfg).folder.exists() for job in jobs) else []


@dataclass(frozen=True)
class EndedSweep:
    """The runs that a sweep has begun, and their table."""

    jobs: list[Job]

    @property
    def failed(self) -> int:
        """Number of runs that are known to have failed."""
        return sum(job.error is not None for job in self.jobs)

    @property
    def table(self) -> TextTable:
        """A row for each run."""
        from lra.terminal.text_table import TextTable

        shared = set.intersection(*(set(job.overrides) for job in self.jobs))
        return TextTable(
            title=f"{len(self.jobs)} runs, {self.failed} failed",
            columns=("run", "seed", "accuracy (%)", "best dev (%)", "seconds", "state"),
            rows=[_row(job, shared) for job in self.jobs],
            optional=("seconds", "best dev (%)"),
            prose=("state",),
        )

    def show(self, console: Console) -> None:
        """Print the table."""
        from lra.terminal.fit_table import print_text_table

        print_text_table(console, self.table)


def _row(job: Job, shared: Collection[str]) -> list[str]:
    from lra.base.text import MISSING

    varied = [each for each in job.overrides.without(*IN_OTHER_COLUMNS) if each not in shared]
    name = f"{job.cfg.task.name}/{job.cfg.method_name}" + (f" ({', '.join(varied)})" if varied else "")
    record = job.record
    if record is None:
        ended = "failed, or stopped before its end" if job.elsewhere else "stopped before its end"
        state = f"failed: {job.error}" if job.error else ended
        return [name, str(job.cfg.seed), MISSING, MISSING, MISSING, state]
    outcome = record.outcome
    accuracies = [f"{100 * accuracy:.2f}" for accuracy in (outcome["test_accuracy"], outcome["best_dev_accuracy"])]
    return [name, str(job.cfg.seed), *accuracies, f"{record.train_seconds:,.0f}", "finished"]
