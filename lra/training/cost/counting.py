"""Count the FLOPs and the memory traffic of a step, and measure how much of both the machine can do per second."""

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from lra.ops import private_torch
from lra.ops.private_torch import OpOverload, TorchDispatchMode, tree_leaves

ATEN = torch.ops.aten
# FLOPs that torch's counter leaves out: in-place matrix products, fused attention on a CPU, Fourier transforms.
UNCOUNTED = {
    ATEN.addmm_: lambda out, a, b, **_: 2 * a[0] * a[1] * b[1],
    ATEN.baddbmm_: lambda out, a, b, **_: 2 * a[0] * a[1] * a[2] * b[2],
    private_torch.fused_attention: lambda q, k, *_, **__: _attention_flops(q, k, products=2),
    private_torch.fused_attention_backward: lambda grad, q, k, *_, **__: _attention_flops(q, k, products=5),
    **private_torch.fourier_flops(lambda *shapes, **last: _fft_flops(*shapes, **last)),
}

WITHOUT_WORK = {"empty", "empty_like", "empty_strided", "new_empty", "_unsafe_view"}  # they allocate or view


@dataclass(frozen=True)
class Work:
    """The work of one step.

    `flops` are those of matrix products and Fourier transforms, `bytes` the sum of the sizes of all inputs and outputs
    of all operators (caches make the true traffic smaller), `operators` those that ran, without views and allocations.
    """

    flops: int
    bytes: int
    operators: int


def count_work(step: Callable[[], object]) -> Work:
    """Run `step` once and count its work."""
    with FlopCounterMode(display=False, custom_mapping=UNCOUNTED) as flops, _Bytes() as moved:
        step()
    return Work(flops.get_total_flops(), moved.bytes, moved.operators)


class _Bytes(TorchDispatchMode):
    def __init__(self) -> None:
        super().__init__()
        self.bytes = self.operators = 0

    def __torch_dispatch__(self, func: OpOverload, types: object, args: Any = (), kwargs: Any = None) -> Any:
        out = func(*args, **(kwargs or {}))
        if not (func.is_view or func.namespace == "prim" or func.overloadpacket.__name__ in WITHOUT_WORK):
            self.operators += 1
            self.bytes += sum(x.nbytes for x in tree_leaves((args, kwargs, out)) if isinstance(x, Tensor))
        return out


def _attention_flops(q: Sequence[int], k: Sequence[int], *, products: int) -> int:
    batch, heads, length, dims = q
    return int(2 * products * batch * heads * length * k[2] * dims)


def _fft_flops(shape: Sequence[int], dims: Sequence[int], *, last: int | None = None) -> int:
    """FLOPs of real Fourier transforms: 5/2 n log₂ n for n numbers, half of Cooley and Tukey's count for complex ones.

    `last` is the size of the last transformed dimension, if it differs from the input's.
    """
    sizes = list(shape)
    sizes[dims[-1]] = last or sizes[dims[-1]]
    return int(2.5 * math.prod(sizes) * math.log2(math.prod(sizes[axis] for axis in dims)))


def product_rate(device: torch.device) -> float:
    """Measure the best FLOP/s of matrix products of the encoder's size, with matrices that stay in cache."""
    x, w = torch.randn(2048, 64, device=device), torch.randn(64, 192, device=device)
    out = torch.empty(2048, 192, device=device)
    return 2 * x.numel() * 192 / median_seconds(lambda: torch.mm(x, w, out=out), device)


def copy_rate(device: torch.device) -> float:
    """Measure the bytes per second that a copy reads and writes, with tensors that are too large for caches."""
    x = torch.randn(1 << 25, device=device)
    out = torch.empty_like(x)
    return 2 * x.nbytes / median_seconds(lambda: out.copy_(x), device)


def median_seconds(function: Callable[[], object], device: torch.device, *, least: float = 0.05) -> float:
    """Time `function`: the median over five repetitions, each of so many calls that it takes `least` seconds."""
    function()
    turns: list[float] = []
    repeats = 1
    while len(turns) < 5:
        began = synchronized_seconds(device)
        for _ in range(repeats):
            function()
        seconds = synchronized_seconds(device) - began
        if seconds < least:
            repeats *= 2
        else:
            turns.append(seconds / repeats)
    return statistics.median(turns)


def synchronized_seconds(device: torch.device) -> float:
    """Read the clock, in seconds, after the device has finished all its work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()
