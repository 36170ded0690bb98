"""lra publish: append records of finished runs to a file of published records, which is kept with the code.

  lra publish run_group=table name=paper_table          every finished run of a group
  lra publish run=a1b9200f seed=0 name=listops          one run, by its hash (lra show runs) or its folder

The file is published/NAME.jsonl below the folder of runs ($LRA_RUNS_DIR, or ./runs), or NAME.jsonl in to=FOLDER,
one record a line. The project's documents quote no other results. A record that the file has already is not appended
again. Records of runs with uncommitted changes (commit …-dirty) need dirty=true.
"""

from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from lra.base.files import checked_name
from lra.base.text import visible
from lra.runs.collect import append_new, collect, describe
from lra.runs.files import find_run
from lra.runs.schema import Record
from lra.terminal.console import make_console
from lra.types import UserError


def run(cfg: DictConfig) -> None:
    """Append the records that the file does not have."""
    if cfg.name is None or (cfg.run is None) == (cfg.run_group is None):
        raise UserError("say what and where: lra publish run_group=table name=paper_table, or run=a1b9200f name=mine")
    name = checked_name(cfg.name, "name=", example="paper_table")
    runs = Path(cfg.paths.runs)
    seed = OmegaConf.select(cfg, "seed")
    place = runs / str(cfg.run_group) if cfg.run is None else find_run(str(cfg.run), runs, seed=seed)
    collection = collect(place)
    if not collection.records:
        line = "; ".join([f"no record is below {place}", *collection.troubles])
        raise UserError(line, kind="no_records", key=str(place))
    console = make_console()
    for trouble in collection.troubles:
        console.print(trouble)

    def _choose(there: list[Record]) -> list[Record]:
        new = [record for record in collection.records if record not in there]
        for record in new:
            commit = record["provenance"].get("git_commit") or "none"
            if commit.endswith("-dirty") and not cfg.dirty:
                what = f"{describe(record)} is of a changed checkout ({commit})"
                raise UserError(f"{what}: commit and run it again, or type dirty=true")
        return new

    target = Path(cfg.to).expanduser() / f"{name}.jsonl"
    count = append_new(target, _choose)
    line = f"{count} records appended, {len(collection.records) - count} were there: {target}"
    console.print(visible(line))
