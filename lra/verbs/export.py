"""lra export: write a trained model as files that load without its training: weights, settings, a model card.

  lra export run=a1b9200f to=my-model                the run whose settings have this hash; lra show runs lists them
  lra export run=a1b9200f seed=0 to=models/listops   where several seeds have these settings

run= is a hash (or its first digits), GROUP/HASH, or a run's folder. The new folder gets model.safetensors (the best
checkpoint by dev accuracy), config.json and README.md, a model card written from the run's record. In Python
lra.load_exported("my-model") gives the model; it needs neither Hydra nor Lightning.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from omegaconf import DictConfig


def run(cfg: DictConfig) -> None:
    """Export the run that `cfg.run` and `cfg.seed` name to the new folder `cfg.to`."""
    from omegaconf import OmegaConf

    from lra.base.text import visible
    from lra.interop.export import check_target, write_exported
    from lra.runs.find_run import find_run
    from lra.runs.record import read_record
    from lra.settings.stored_config import read_trained_config
    from lra.terminal.console import make_console, size_text
    from lra.types import UserError

    for key in ("run", "to"):
        if OmegaConf.select(cfg, key) is None:
            raise UserError(
                f"{key}= is missing; type for example: lra export run=a1b9200f seed=0 to=my-model",
                kind="missing_option",
                key=key,
            )
    folder = find_run(str(cfg.run), Path(cfg.paths.runs), seed=OmegaConf.select(cfg, "seed"))
    to = Path(cfg.to).expanduser()
    check_target(to)
    trained = read_trained_config(folder, cfg.paths)
    record = read_record(folder)
    if record is None:
        raise UserError(f"{folder} has no result yet, and the model card needs it; lra train finishes the run")
    write_exported(folder, to, trained, record)
    console = make_console()
    size = size_text(sum(path.stat().st_size for path in to.iterdir()))
    console.print(f"exported {size}, test accuracy {record['outcome']['test_accuracy']:.2%}: {visible(str(to))}")
    console.print(f'in Python: lra.load_exported("{visible(str(to))}")')
