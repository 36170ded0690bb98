"""The types of what `lra` gives; `__init__.py` says where it is."""

from lra.api import Run, compose, load_run, prepare_data, records
from lra.from_config import build_datamodule, build_mixers, build_model, build_module
from lra.settings.run_folder import run_dir
from lra.tools.interop.exported import load_exported
from lra.tools.sequence_encoder import SequenceEncoder
from lra.types import UserError

__version__: str
__all__ = [
    "Run",
    "SequenceEncoder",
    "UserError",
    "build_datamodule",
    "build_mixers",
    "build_model",
    "build_module",
    "compose",
    "load_exported",
    "load_run",
    "prepare_data",
    "records",
    "run_dir",
]
