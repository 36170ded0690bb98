"""A Long Range Arena benchmark harness: attention variants compared in one shared encoder.

The names in `__all__` are for notebooks and scripts. Each is imported when it is first used, so `import lra` is fast.
"""

from __future__ import annotations

import importlib

from lra.base import packed_form
from lra.base.openmp import limit_spinning

TYPE_CHECKING = False  # importing it from typing takes long enough for a Ctrl-C, whose traceback nobody hears yet
if TYPE_CHECKING:
    from typing import Any

    from lra.api import Run, compose, load_run, prepare_data, records
    from lra.base.packed_form import Encode
    from lra.build import build_datamodule, build_mixers, build_model, build_module
    from lra.interop.exported import load_exported
    from lra.model import SequenceEncoder
    from lra.settings.config import run_dir
    from lra.types import UserError

__version__ = "0.1.0"
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
_HOMES = {
    **dict.fromkeys(("build_datamodule", "build_mixers", "build_model", "build_module"), "build"),
    "SequenceEncoder": "model",
    "UserError": "types",
    "load_exported": "interop.exported",
    "run_dir": "settings.config",
}

limit_spinning()  # before anything imports torch


def _open_packed_form() -> Encode:
    """Import the packed form. No other line of the package's core imports `lra.packed`: this is its one door."""
    from lra.packed.encoder_forms import encode

    return encode


packed_form.plug_in(_open_packed_form)


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"lra.{_HOMES.get(name, 'api')}"), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
