"""Take the pretraining of an earlier run in place of one's own: `pretrain.from=HASH`."""

import json

from rich.console import Console

from lra.base.checked_json import checked, parsed_json
from lra.base.files import read_file, replace_bytes, replace_text
from lra.base.printed_commands import command, typed_overrides
from lra.base.text import visible
from lra.from_config.pretraining import build_masked_model
from lra.from_config.step_flops import count_pretraining_step_flops
from lra.run import Run
from lra.runs.files import BEST, DATA, LAST, PRETRAINING, TAKEN_FROM
from lra.runs.schema import PRETRAINING_SOURCE, PretrainingSource
from lra.settings.pretrain import SOURCE, stage_config
from lra.settings.run_config import RunConfig
from lra.settings.stored_config import read_stored_config
from lra.training.checkpoints import read_matching_weights, saved_step
from lra.types import UserError


def find_source(cfg: RunConfig) -> Run:
    """Find the run that `pretrain.from` names: that of this run's seed, or the only one.

    Raises:
        UserError: when there is none, or several; when it has ended no pretraining, or its encoder does not fit.
    """
    digits, runs = cfg.taken_from, cfg.paths.runs
    assert digits is not None
    found = Run.of_hash(digits, runs)
    seeds = sorted({run.names.seed for run in found})
    if not found:
        lists = command("show runs", *typed_overrides("paths.runs"))
        line = f"{SOURCE}={digits} is the hash of no run below {runs}; {lists} lists all"
        raise UserError(line, kind="unknown_run", key=SOURCE, value=digits, right=lists)
    if cfg.seed not in seeds and len(seeds) > 1:
        line = f"{SOURCE}={digits} is of runs with the seeds {', '.join(map(str, seeds))}, not {cfg.seed}; choose one"
        raise UserError(
            f"{line}: seed={seeds[0]}", kind="unknown_run", key=SOURCE, value=digits, right=f"seed={seeds[0]}"
        )
    chosen = cfg.seed if cfg.seed in seeds else seeds[0]
    source = next((run for run in found if run.names.seed == chosen and _has_ended(run)), None)
    if source is None:
        line = f"{SOURCE}={digits} has ended no pretraining of its own; train it first, with pretrain=masked"
        raise UserError(line, kind="wrong_value", key=SOURCE, value=digits)
    try:
        read_matching_weights(source.folder / PRETRAINING / BEST, build_masked_model(stage_config(cfg)))
    except UserError as error:
        if error.kind != "other_model":
            raise
        line = (
            f"{SOURCE}={digits} has another encoder than this run: {error.value} does not fit; its task, size, method"
        )
        line = f"{line} and model.* must be those of this run"
        raise UserError(line, kind="wrong_value", key=SOURCE, value=digits) from error
    return source


def _has_ended(run: Run) -> bool:
    """Tell whether a run has trained a pretraining to its last step."""
    config, last = read_stored_config(run.folder), run.folder / PRETRAINING / LAST
    return config.is_pretrained and config.taken_from is None and saved_step(last) >= config.pretrain.steps


def take_pretraining(cfg: RunConfig, run: Run, console: Console) -> None:
    """Copy the checkpoints of the earlier run's pretraining to the run's folder, unless they are there.

    Raises:
        UserError: as `find_source` does.
    """
    folder = run.folder / PRETRAINING
    if (folder / LAST).exists():
        return
    source = find_source(cfg)
    config = read_stored_config(source.folder)
    described: PretrainingSource = {
        "config_hash": source.names.config_hash,
        "seed": source.names.seed,
        "data_sha256": parsed_json(read_file(source.folder / DATA), source.folder / DATA, "train it again"),
        "flops": config.pretrain.steps * count_pretraining_step_flops(stage_config(config)),
    }
    folder.mkdir(parents=True, exist_ok=True)
    replace_text(folder / TAKEN_FROM, json.dumps(described, indent=2) + "\n")
    for name in (BEST, LAST):  # the last one says that all are there
        replace_bytes(folder / name, read_file(source.folder / PRETRAINING / name))
    console.print(visible(f"pretrained in {source.folder}, which is not repeated"))


def read_source(run: Run) -> PretrainingSource | None:
    """Read where a run's pretraining was taken from; None if it is its own."""
    path = run.folder / PRETRAINING / TAKEN_FROM
    if not path.exists():
        return None
    remedy = f"move {path.parent.parent} away and train again"
    return checked(PRETRAINING_SOURCE, parsed_json(read_file(path), path, remedy), path, remedy)
