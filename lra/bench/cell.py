"""One cell of a bench: a method at one length, prepared and tried once, then timed turn by turn."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import torch
from torch import Tensor

from lra.bench.inputs import DTYPES, BenchInputs
from lra.bench.methods import BenchCall, BenchMethod
from lra.bench.products import Product, ProductRates, count_products
from lra.bench.record import BenchPass
from lra.timing.counting import count_work, synchronized_seconds
from lra.timing.memory import peak_extra_bytes
from lra.training.memory import return_freed_memory_beyond

GROWTH, MARGIN_BYTES = 1.5, 1 << 30  # what the process may hold, as a multiple of a pass's peak, and in addition
LEAST_SECONDS = 0.01  # of a turn: a shorter call is repeated within it


class PassTimer:
    """Measures one pass of a method: its memory and its work when it is made, its time in turns.

    Args:
        call: the method, ready to be called.
        gradient: gradient of the output; None: the pass has no backward pass.
        rates: times plain products.
        device: where.
        repeats: the most turns.
        budget_seconds: fewer turns are made when so many would take longer than this.
    """

    def __init__(
        self,
        call: BenchCall,
        gradient: Tensor | None,
        rates: ProductRates,
        device: torch.device,
        *,
        repeats: int,
        budget_seconds: float,
    ):
        self.call, self.gradient, self.device = call, gradient, device
        self.peak_bytes = peak_extra_bytes(self._run, device)
        products: Counter[Product] = Counter()
        counted = call.forward_with_gradients_on if gradient is None else self._run
        self._make_room()
        self.flops = count_work(lambda: products.update(count_products(counted))).flops
        self.product_seconds = rates.seconds(products)
        self.calls = 1
        self.first_seconds = self._time()
        self.calls = max(1, math.ceil(LEAST_SECONDS / self.first_seconds))
        per_turn = self.calls * self.first_seconds
        self.turns = min(repeats, max(1, int(budget_seconds / per_turn)))
        self.seconds: list[float] = []

    def _run(self) -> object:
        return self.call.run(self.gradient)

    def _make_room(self) -> None:
        """Return freed memory, in pieces too small to be used again, when the process holds much more than it needs."""
        if self.device.type == "cpu":
            return_freed_memory_beyond(self.peak_bytes, growth=GROWTH, margin_bytes=MARGIN_BYTES)

    def _time(self) -> float:
        self._make_room()
        began = synchronized_seconds(self.device)
        for _ in range(self.calls):
            self._run()
        return (synchronized_seconds(self.device) - began) / self.calls

    def turn(self) -> None:
        """Time one more turn, unless all have been made."""
        if len(self.seconds) < self.turns:
            self.seconds.append(self._time())

    def result(self) -> BenchPass:
        """What has been measured; at least one turn has been made."""
        return {
            "seconds": list(self.seconds),
            "peak_bytes": self.peak_bytes,
            "flops": self.flops,
            "product_seconds": self.product_seconds,
        }


def pass_timers(
    method: BenchMethod,
    inputs: BenchInputs,
    rates: ProductRates,
    *,
    passes: Sequence[str],
    repeats: int,
    budget_seconds: float,
) -> dict[str, PassTimer]:
    """Prepare a method and try each of these passes once."""
    call, device = method.prepare(inputs), torch.device(inputs.shape.device)
    generator = torch.Generator().manual_seed(1)
    timers = {}
    for name in passes:
        gradient = None
        if name == "both":
            with torch.no_grad():
                shape = call.forward().shape
            drawn = torch.randn(shape, generator=generator)
            gradient = drawn.to(device=device, dtype=DTYPES[inputs.shape.dtype])
        timers[name] = PassTimer(call, gradient, rates, device, repeats=repeats, budget_seconds=budget_seconds)
    return timers
