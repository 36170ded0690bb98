"""Find what makes the host wait for a GPU, on a machine without one: torch's meta device stands for it.

A meta tensor is not on the host, as a GPU's is not, so torch goes the same way. It has no data, which a step that never
waits does not need.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from unittest import mock

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

ATEN = torch.ops.aten
DEVICE = torch.device("meta")
# They wait for a GPU, though neither the shape of their result nor its place tells it.
WAITING = (ATEN._linalg_check_errors, ATEN.linalg_pinv, ATEN._linalg_svd, ATEN._linalg_eigh, ATEN.linalg_lstsq)
DATA_DEPENDENT = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
INDEXING = (ATEN.index, ATEN.index_put, ATEN.index_put_)
COPYING = (ATEN.copy_, ATEN.where, ATEN.index_put, ATEN.index_put_)  # also a tensor of one number
FROM_HOST = ("tensor", "as_tensor", "asarray", "new_tensor")  # of meta tensors they call no operator


class WaitsError(AssertionError):
    """Raised where the host would wait for the device."""


@contextmanager
def without_waiting() -> Iterator[None]:
    """Refuse all that makes the host wait for the device."""
    with no_autocast(), _Operators(), _Functions():
        yield


@contextmanager
def no_autocast() -> Iterator[None]:
    """Let mixed precision, which is not known for meta tensors, be turned off without effect."""

    def autocast(device_type: str, *how: Any, **more: Any) -> Any:
        return nullcontext() if device_type == DEVICE.type else real(device_type, *how, **more)

    real = torch.autocast
    with mock.patch.object(torch, "autocast", autocast):
        yield


class _Operators(TorchDispatchMode):
    """Refuses results that the host reads, shapes that depend on data, and copies between host and device."""

    def __torch_dispatch__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        host, device = _places((args, kwargs))
        if device and _waits(func, args, kwargs):
            raise WaitsError(f"{func} waits for the device")
        if device and kwargs.get("device") not in (None, DEVICE):
            raise WaitsError(f"{func} copies from the device to the host")
        if device and any(x.dim() or func.overloadpacket in COPYING for x in host):
            raise WaitsError(f"{func} copies from the host to the device")
        out = func(*args, **kwargs)
        _, device_out = _places(out)
        if host and not device and device_out:
            raise WaitsError(f"{func} copies from the host to the device")
        return out


class _Functions(TorchFunctionMode):
    """Refuses numbers of Python and numpy that become tensors of the device."""

    def __torch_function__(self, func: Any, types: object, args: Any = (), kwargs: Any = None) -> Any:
        name = getattr(func, "__name__", "")
        if name in ("__getitem__", "__setitem__") and args[0].device == DEVICE:
            index = args[1] if isinstance(args[1], tuple) else (args[1],)
            if any(isinstance(part, list) for part in index):
                raise WaitsError("a list as an index is copied to the device")
        out = func(*args, **(kwargs or {}))
        given = name != "new_tensor" and isinstance(args[0], Tensor) and args[0].device == DEVICE
        if name in FROM_HOST and out.device == DEVICE and not given:
            raise WaitsError(f"torch.{name} copies from the host to the device")
        return out


def _places(values: Any) -> tuple[list[Tensor], list[Tensor]]:
    """Split the tensors among `values` into those of the host and those of the device."""
    tensors = [x for x in tree_leaves(values) if isinstance(x, Tensor)]
    return [x for x in tensors if x.device != DEVICE], [x for x in tensors if x.device == DEVICE]


def _waits(func: Any, args: Any, kwargs: Any) -> bool:
    packet = func.overloadpacket
    if packet in INDEXING:
        return any(isinstance(index, Tensor) and index.dtype == torch.bool for index in args[1])
    if packet == ATEN.repeat_interleave:
        return kwargs.get("output_size") is None
    return packet in WAITING or bool(DATA_DEPENDENT & set(func.tags))
