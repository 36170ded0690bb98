"""lra publish: append records of finished runs to a file of published records, which is kept with the code.

  lra publish run_group=table name=paper_table          every finished run of a group
  lra publish run=a1b9200f seed=0 name=listops          one run, by its hash (lra show runs) or its folder

run_group= is a group of your runs, or the path of any folder or file of records.
The file is published/NAME.jsonl below the folder of runs ($LRA_RUNS_DIR, or ./runs), or NAME.jsonl in to=FOLDER,
one record a line. The project's documents quote no other results. A record that the file has already is not appended
again. Records of runs with uncommitted changes (commit …-dirty) need dirty=true.
"""

from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from lra.base.files import checked_name
from lra.base.overrides import Overrides
from lra.base.printed_commands import command, override, typed_command
from lra.base.text import visible
from lra.run import Run
from lra.runs.collection import Collection, append_new, collect, describe
from lra.runs.groups import PUBLISHED, PUBLISHED_FOLDER
from lra.runs.schema import Record
from lra.settings.command_options import Publish
from lra.settings.group_to_read import folder_of_runs, no_records, typed_text, with_group_found
from lra.settings.run_config import RunConfig
from lra.terminal.console import check_writable
from lra.types import UserError


def to_overrides(typed: Overrides) -> Overrides:
    """Find the run group, wherever it lies; the file that is written stays in the user's own folder of runs."""
    target = [] if typed_text("to", typed) else [override("to", folder_of_runs(typed) / PUBLISHED_FOLDER)]
    return Overrides([*with_group_found(typed), *target])


@dataclass(frozen=True, kw_only=True)
class Published:
    """How many records were appended to a file, and how many it had; `problems` has a line for each broken one."""

    path: Path
    appended: int
    were_there: int
    problems: list[str]

    def show(self, console: Console) -> None:
        """Print the problems and the counts."""
        for problem in self.problems:
            console.print(problem)
        console.print(visible(f"{self.appended} records appended, {self.were_there} were there: {self.path}"))


def run(cfg: RunConfig) -> Published:
    """Append the records that the file does not have."""
    asked = Publish.view(cfg)
    if asked.name is None or (asked.run is None) == (asked.run_group is None):
        group, one = "run_group=table", "run=a1b9200f"
        right = [command("publish", group, "name=paper_table"), command("publish", one, "name=mine")]
        line = f"say what and where: {right[0]}, or {right[1]}"
        raise UserError(line, kind="missing_option", key="name" if asked.name is None else "run_group", right=right)
    name = checked_name(asked.name, "name=", example="paper_table")
    runs, target = cfg.paths.runs, Path(asked.to).expanduser().absolute() / f"{name}{PUBLISHED}"
    check_writable(target, asked.to, "to", example=PUBLISHED_FOLDER)
    path = runs / str(asked.run_group)
    if asked.run is not None:
        path = Run.find(asked.run, runs=runs, seed=asked.seed).folder
    collection = collect(path) if path.exists() else Collection()
    if not collection.records and asked.run is None:
        raise no_records("publish", path, problems=collection.problems)
    if not collection.records:
        line = "; ".join([f"no record is below {path}", *collection.problems])
        raise UserError(line, kind="no_records", key=str(path))

    def _choose(there: list[Record]) -> list[Record]:
        new = [record for record in collection.records if record not in there]
        for record in new:
            commit = record.provenance.get("git_commit") or "none"
            if commit.endswith("-dirty") and not asked.dirty:
                what = f"{describe(record)} is of a changed checkout ({commit})"
                right = typed_command("publish", "dirty=true")
                line = f"{what}: commit and run it again, or type: {right}"
                raise UserError(line, kind="dirty", key="dirty", value=commit, right=right)
        return new

    count = append_new(target, _choose)
    were_there = len(collection.records) - count
    return Published(path=target, appended=count, were_there=were_there, problems=collection.problems)
