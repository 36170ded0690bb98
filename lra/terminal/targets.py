"""Explain why a `_target_` cannot be used: its module is missing or fails on import, or lacks the name."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from typing import Any


def target_line(target: str) -> str:
    """Word an error line about a dotted name that could not be found.

    Args:
        target: the dotted name, such as `my_package.attention.Mine`.

    Returns:
        The first part of the name that is wrong, and what to do.
    """
    module, *names = target.split(".")
    if not module or importlib.util.find_spec(module) is None:
        return (
            f"_target_: {target}: Python finds no module {module}; install its package (in its folder:"
            " pip install -e .) or name the folder that holds it: export PYTHONPATH=/path/to/folder"
        )
    known = ""
    place: Any = None
    for name in (module, *names):
        path = f"{known}.{name}".lstrip(".")
        if not hasattr(place, name):
            try:
                importlib.import_module(path)
            except ModuleNotFoundError as error:
                if f"{path}.".startswith(f"{error.name}."):
                    return f"_target_: {target}: there is no {name} in {known}"
                return _failing(target, path, error)
            except Exception as error:  # the user's module may raise anything when it is imported
                return _failing(target, path, error)
        place = sys.modules[path] if path in sys.modules else getattr(place, name)
        known = path
    raise AssertionError(f"{target} can be found")


def _failing(target: str, module: str, error: Exception) -> str:
    said = " ".join(str(error).split())
    return f"_target_: {target}: importing {module} fails with {type(error).__name__}: {said}"
