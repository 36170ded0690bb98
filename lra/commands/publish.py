"""lra publish: append records of finished runs to a file of published ones, which is kept with the code.

  lra publish run_group=table name=paper_table          every finished run of a group
  lra publish run=runs/default/listops/nystrom/…/seed0 name=listops

The file is runs/published/NAME.jsonl, one record a line; documents may quote only what stands there. What is there
already is not appended again. Refused: records of a changed checkout (git says -dirty), unless dirty=true.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from lra.types import UserError

if TYPE_CHECKING:
    from omegaconf import DictConfig


def run(cfg: DictConfig) -> None:
    """Append what is new."""
    from lra.commands.console import make_console
    from lra.results.collect import collect, describe
    from lra.results.record import replace_text

    if cfg.name is None or (cfg.run is None) == (cfg.run_group is None):
        raise UserError("say what and where: lra publish run_group=table name=paper_table, or run=FOLDER name=…")
    place = Path(cfg.paths.runs) / cfg.run_group if cfg.run is None else Path(cfg.run).expanduser()
    found = collect(place)
    if not found.records:
        raise UserError("; ".join([f"no record is below {place}", *found.troubles]))
    console = make_console()
    for trouble in found.troubles:
        console.print(trouble)
    target = Path(cfg.to).expanduser() / f"{cfg.name}.jsonl"
    before = target.read_text() if target.exists() else ""
    there = [json.loads(line) for line in before.splitlines()]
    new = [record for record in found.records if record not in there]
    for record in new:
        commit = record["provenance"].get("git_commit") or "none"
        if commit.endswith("-dirty") and not cfg.dirty:
            raise UserError(
                f"{describe(record)} is of a changed checkout ({commit}): commit and run it again, or type dirty=true"
            )
    target.parent.mkdir(parents=True, exist_ok=True)
    if new:
        replace_text(target, before + "".join(json.dumps(record) + "\n" for record in new))
    console.print(f"{len(new)} records appended, {len(found.records) - len(new)} were there: {target}")
