"""A Long Range Arena benchmark harness: attention variants compared in one shared encoder.

The names in `__all__` are for notebooks and scripts. Each is imported when it is first used, so `import lra` is fast;
`__init__.pyi` has their types. The wings of the house, `lra.tables`, `lra.tools` and `lra.packed`, are named here and
nowhere else in its core.
"""

from __future__ import annotations

import importlib

from lra.base import packed_form
from lra.base.openmp import limit_spinning

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
    "Run": "run",
    **dict.fromkeys(("build_datamodule", "build_mixers", "build_model", "build_module"), "from_config"),
    "SequenceEncoder": "tools.sequence_encoder",
    "UserError": "types",
    "load_exported": "tools.interop.exported",
    "run_dir": "settings.which_run",
}

limit_spinning()  # before anything imports torch


def _open_packed_form() -> object:
    """Import the packed form, which the padded one calls without an import of its own."""
    return importlib.import_module("lra.packed.encoder_forms").encode


packed_form.plug_in(_open_packed_form)


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"lra.{_HOMES.get(name, 'api')}"), name)


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
