"""Slow twins: each written from its paper, materialised and plain, to hold the fast code against."""

import inspect
import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module

from torch import Tensor


@cache
def twin(name: str) -> Callable[..., Tensor]:
    """Find the twin of an attention or a mixer: the function with its name in one of the files of this folder."""
    modules = (import_module(f"{__name__}.{file.name}") for file in pkgutil.iter_modules(__path__))
    twins = [getattr(module, name) for module in modules if inspect.isfunction(getattr(module, name, None))]
    found = [each for each in twins if inspect.getmodule(each).__name__.startswith(__name__)]
    assert found, f"no file of tests/reference has the slow twin {name}()"
    return found[0]
