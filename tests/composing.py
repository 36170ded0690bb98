"""Parse each file of settings once: a composition parses thirty, and the tests compose two thousand times."""

import copy
import os
from types import SimpleNamespace
from typing import Any, TextIO

import hydra._internal.core_plugins.file_config_source as source
from omegaconf import OmegaConf

_PARSED: dict[tuple[object, ...], Any] = {}


def parse_each_file_once() -> None:
    """Give later compositions of this process a copy of what a file held, until the file changes."""
    source.OmegaConf = SimpleNamespace(load=_load)  # type: ignore[misc,assignment]


def _load(file: TextIO) -> Any:
    state = os.fstat(file.fileno())
    key = file.name, state.st_ino, state.st_mtime_ns, state.st_size
    if key not in _PARSED:
        _PARSED[key] = OmegaConf.load(file)
    return copy.deepcopy(_PARSED[key])
