"""lra export: write a trained model as files that load without its training: weights, settings, a model card.

  lra export run=a1b9200f to=my-model                the run whose settings have this hash; lra show runs lists them
  lra export run=a1b9200f seed=0 to=models/listops   where several seeds have these settings

run= is a hash (or its first digits), GROUP/HASH, or a run's folder. The new folder gets model.safetensors (the best
checkpoint by dev accuracy), config.json and README.md, a model card written from the run's record. In Python
lra.load_exported("my-model") gives the model; it needs neither Hydra nor Lightning.
"""

import itertools
import json
import os
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from lra.base.files import making_folder
from lra.base.paths import NO_OPTION_KEYS
from lra.base.printed_commands import command, override, shell_word, typed_command, typed_overrides
from lra.base.spread import binomial_error
from lra.base.text import for_markdown, size_text, visible
from lra.from_config import build_model, build_spec
from lra.run import Run
from lra.runs.files import BEST
from lra.runs.schema import MIXERS, TARGET, Record, is_ours
from lra.settings.command_options import Export
from lra.settings.run_config import RunConfig
from lra.terminal.console import check_writable
from lra.tools.interop.files import CONFIG_JSON, SAFETENSORS, write_tensors
from lra.training.checkpoints import read_matching_weights
from lra.types import UserError

NOT_FOR_BUILDING = ("name", "_partial_", "parameter_groups")
HYDRAS_KEY = re.compile(r'"(_\w+_)":')  # in JSON: a key that Hydra reads, such as `_target_`
NOT_OFFICIAL = "Its data are not the benchmark's official ones but `{}`: the accuracy is no result of the benchmark."
CARD = """\
---
library_name: lra
tags: {tags}
metrics: ["accuracy"]
---

# {title}

A model of the Long Range Arena benchmark harness `lra`: one of several attentions in the same encoder.

{warning}|  |  |
|---|---|
{rows}

## Use

```python
import lra

model = lra.load_exported("{folder}"{trusted})
logits = model(tokens, {mask})  # tokens [B, {sequences}, {length}] → logits [B, {classes}]
```
"""


@dataclass(frozen=True, kw_only=True)
class Exported:
    """A new folder with a trained model; the test accuracy is a fraction in [0, 1]."""

    folder: Path
    accuracy: float

    def show(self, console: Console) -> None:
        """Print where the model is, and how to load it."""
        size = size_text(sum(path.stat().st_size for path in self.folder.iterdir()))
        console.print(f"exported {size}, test accuracy {self.accuracy:.2%}: {visible(str(self.folder))}")
        load = f"lra.load_exported({json.dumps(str(self.folder), ensure_ascii=False)})"
        console.print(visible(f"in Python: {load}"))


def run(cfg: RunConfig) -> Exported:
    """Export the run that `cfg.run` and `cfg.seed` name to the new folder `cfg.to`."""
    asked = Export.view(cfg)
    if asked.run is None:
        right = command("export", "run=a1b9200f", "seed=0", "to=my-model")
        line = f"run= is missing; type for example: {right}; the runs are listed by: {command('show runs')}"
        raise UserError(line, kind="missing_option", key="run", right=right)
    if asked.to is None:
        right = typed_command("export", "to=my-model")
        raise UserError(f"to= is missing; type for example: {right}", kind="missing_option", key="to", right=right)
    to = Path(asked.to).expanduser()
    _check_target(to)
    check_writable(to.absolute(), asked.to, "to")
    exported = Run.find(asked.run, runs=cfg.paths.runs, seed=asked.seed)
    trained, record = exported.config_at(cfg), exported.record
    if record is None:
        states = command("show runs", *typed_overrides("paths.runs"))
        line = f"{exported.folder} has no result yet, and the model card needs it;"
        line += f" the command that began the run finishes it; how far it is says: {states}"
        raise UserError(line, kind="no_records", key=str(exported.folder), right=states)
    write_exported(exported, to, trained, record)
    return Exported(folder=to, accuracy=record.test_accuracy)


def _check_target(to: Path) -> None:
    """Refuse a place that is taken: a file, or a folder that is not empty."""
    if to.is_dir() and any(to.iterdir()):
        what = "is a folder that is not empty; name a new one"
    elif os.path.lexists(to) and not to.is_dir():
        what = "is a file; name a new folder"
    else:
        return
    names = (to.parent / f"{to.name or 'exported'}-{number}" for number in itertools.count(2))
    right = typed_command("export", override("to", next(name for name in names if not os.path.lexists(name))))
    line = f"{shell_word(override('to', to))} {what}, for example: {right}"
    raise UserError(line, kind="taken", key="to", value=str(to), right=right)


def exported_config(cfg: RunConfig) -> dict[str, Any]:
    """Collect what the model is built from, as `lra.tools.interop.exported.ExportedConfig` declares it.

    Raises:
        UserError: for settings that only Hydra can build from, such as a class among the settings of a class.
    """
    kept: dict[str, dict[str, Any]] = {}
    for group, settings in ((cfg.mixer_group, cfg.mixer_settings), ("model", cfg.plain("model"))):
        kept[group] = {key: value for key, value in settings.items() if key not in NOT_FOR_BUILDING}
        special = HYDRAS_KEY.search(json.dumps({key: value for key, value in kept[group].items() if key != TARGET}))
        if special:
            raise UserError(
                f"{group} has {special[1]} among its settings, which only Hydra can build from; to export this"
                " run, let the class make its parts itself"
            )
    return {"lra_export": 1, "task": asdict(build_spec(cfg)), "mask_zero": cfg.task.mask_zero, **kept}


def write_exported(run: Run, to: Path, cfg: RunConfig, record: Record) -> None:
    """Write the best checkpoint of a run, settings and card to the folder `to`, whole or not at all."""
    to = to.absolute()
    config = exported_config(cfg)
    weights = read_matching_weights(run.folder / BEST, build_model(cfg))
    card = model_card(record, config, folder=to.name)
    with making_folder(to, replace=False) as unfinished:
        write_tensors(unfinished / SAFETENSORS, weights)
        (unfinished / CONFIG_JSON).write_text(json.dumps(config, indent=2) + "\n", "utf-8")
        (unfinished / "README.md").write_text(card, "utf-8")
        _check_target(to)


def model_card(record: Record, config: Mapping[str, Any], *, folder: str) -> str:
    """Write the card as Markdown with the header that model hubs read."""
    identity, outcome, provenance = record.identity, record.outcome, record.provenance
    method = next(record.settings[group] for group in MIXERS if group in record.settings)
    options = ", ".join(f"{key}={value}" for key, value in method.items() if key not in NO_OPTION_KEYS)
    error = binomial_error(outcome["test_accuracy"], outcome["test_examples"])
    accuracy = f"{outcome['test_accuracy']:.2%} ± {100 * error:.2f} %"
    rows = {
        "task": f"{identity['task']}, size {identity['size']}",
        "attention": identity["attention"],
        "its settings": options or "none",
        "protocol": identity["protocol"],
        "test accuracy": f"{accuracy} (standard error of n = {outcome['test_examples']})",
        "majority class": f"{outcome['majority_rate']:.2%}",
        "best dev accuracy": f"{outcome['best_dev_accuracy']:.2%}, at step {outcome['best_step']}",
        "steps": str(outcome["steps"]),
        "seed": str(identity["seed"]),
        "parameters": f"{record.cost['parameters']:,}",
        "data": f"{provenance['data_origin']}: {_pairs(provenance['data_sha256'])}",
        "versions": _pairs(provenance["versions"]),
        "commit": provenance.get("git_commit") or "not recorded",
        "hash of the settings": provenance["config_hash"],
        "finished": provenance["finished_at"],
    }
    task, origin = config["task"], provenance["data_origin"]
    targets = [config[group][TARGET] for group in ("model", *MIXERS) if group in config]
    own_package = next((target.split(".")[0] for target in targets if not is_ours(target)), None)
    return CARD.format(
        tags=json.dumps(["long-range-arena", identity["task"], identity["attention"]]),
        title=for_markdown(visible(f"{identity['attention']} on {identity['task']}")),
        warning="" if origin == "official" else f"{NOT_OFFICIAL.format(origin)}\n\n",
        rows="\n".join(f"| {name} | {for_markdown(visible(value))} |" for name, value in rows.items()),
        folder=visible(folder).replace("\\", "\\\\").replace('"', '\\"'),
        trusted=f', trusted=["{own_package}"]' if own_package else "",
        mask="tokens != 0" if config["mask_zero"] else "None",
        sequences=task["num_sequences"],
        length=task["seq_len"],
        classes=task["num_classes"],
    )


def _pairs(values: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in values.items())
