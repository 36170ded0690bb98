"""Measure methods length by length: at each length they take turns, so that other load slows all of them."""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from lra.base.processes import is_out_of_memory
from lra.base.signals import raise_if_stopped
from lra.tools.bench.methods import DTYPES, BenchCall, BenchInputs, BenchMethod, BenchShape, UnsuitableShapeError
from lra.tools.bench.products import Product, ProductRates, count_products
from lra.tools.bench.record import PASS_TITLES, PASSES, BenchCell, BenchPass, PassName
from lra.tools.bench.summary import pass_of
from lra.training.cost.counting import count_work, synchronized_seconds
from lra.training.cost.memory import free_bytes, peak_extra_bytes
from lra.training.memory import return_freed_memory_beyond

GROWTH, MARGIN_BYTES = 1.5, 1 << 30  # what the process may hold, as a multiple of a pass's peak, and in addition
LEAST_SECONDS = 0.01  # of a turn: a shorter call is repeated within it
MEMORY_SHARE = 0.45  # of the free memory, what a pass may take by its prediction: the process may hold twice as much
PROBES = (256, 512)  # lengths that are tried, not timed, when there are none to predict a longer one from
ALWAYS_TRIED = 1024  # up to this length nothing is predicted
UNSUPPORTED = (  # parts of torch's errors for a dtype that an operator does not take
    *("not implemented for", "same dtype", "Unsupported dtype", "expected scalar type", "without overflow"),
    "Expected both inputs to be",
)


class PassTimer:
    """Measures one pass of a method: its memory and its work when it is made, its time in turns.

    `gradient` is that of the output; None: the pass has no backward pass. Fewer turns than `repeats` are made when so
    many would take longer than `budget_seconds`.
    """

    def __init__(
        self, call: BenchCall, gradient: Tensor | None, rates: ProductRates, *, repeats: int, budget_seconds: float
    ):
        self.call, self.gradient, self.device = call, gradient, rates.device
        self.peak_bytes = peak_extra_bytes(self._run, self.device)
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

    def next_turn(self) -> BenchPass:
        """Time one more turn, unless all have been made; return what has been measured."""
        if len(self.seconds) < self.turns:
            self.seconds.append(self._time())
        return {
            "seconds": self.seconds,
            "peak_bytes": self.peak_bytes,
            "flops": self.flops,
            "product_seconds": self.product_seconds,
        }


def predict(points: Sequence[tuple[int, float]], length: int) -> float:
    """Extend a cost from the last two lengths by a·L + c·L² with a and c of at least 0.

    This is exact for a cost that grows with L or with L², and too high for what grows more slowly than L. `points` are
    the (length, cost) of at least two smaller lengths, in growing order.
    """
    (first, low), (last, high) = points[-2:]
    rate_first, rate_last = low / first, high / last
    quadratic = max(0.0, (rate_last - rate_first) / (last - first))
    linear = rate_last - quadratic * last
    if linear < 0:
        linear, quadratic = 0.0, rate_last / last
    return linear * length + quadratic * length**2


class Bench:
    """Measures methods at growing lengths, and remembers what each has needed.

    A single call that would take longer than `cell_seconds` is left out, as are turns beyond this time. `advance` gets
    method and length after each turn, for a progress bar.
    """

    def __init__(
        self,
        methods: Sequence[BenchMethod],
        shape: BenchShape,
        *,
        backward: bool,
        repeats: int,
        cell_seconds: float,
        advance: Callable[[str, int], object],
    ):
        self.methods, self.shape, self.advance = methods, shape, advance
        self.repeats, self.cell_seconds = repeats, cell_seconds
        self.rates = ProductRates(torch.device(shape.device), DTYPES[shape.dtype])
        self.passes = PASSES if backward else PASSES[:1]
        self.needed = defaultdict[tuple[str, PassName], dict[int, tuple[int, float]]](dict)

    def remember(self, cells: Sequence[BenchCell]) -> None:
        """Take what an earlier measurement needed as known."""
        for cell in cells:
            for name in self.passes:
                measured = pass_of(cell, name)
                if measured:
                    needed = (measured["peak_bytes"], min(measured["seconds"]))
                    self.needed[cell["method"], name][cell["length"]] = needed

    def measure_length(self, length: int) -> Iterator[list[BenchCell]]:
        """Measure all methods at one length; yield the cells after each round of turns."""
        inputs = BenchInputs(replace(self.shape, length=length))
        cells: list[BenchCell] = []
        timers: dict[str, dict[PassName, PassTimer]] = {}
        for method in self.methods:
            raise_if_stopped()
            cell: BenchCell = {"method": method.name, "length": length}
            passes, reason = self._fitting(method, length)
            if passes:
                timers[method.name], failure = self._try(method, inputs, passes)
                reason = failure or reason
            if reason:
                cell["left_out"] = reason
            cells.append(cell)
        for _ in range(self.repeats):
            for cell in cells:
                for name, timer in timers.get(cell["method"], {}).items():
                    raise_if_stopped()
                    cell[name] = timer.next_turn()
                self.advance(cell["method"], length)
            yield cells

    def _try(
        self, method: BenchMethod, inputs: BenchInputs, passes: Sequence[PassName]
    ) -> tuple[dict[PassName, PassTimer], str | None]:
        """Try these passes once; also return why the method is left out, if it is."""
        timers: dict[PassName, PassTimer] = {}
        try:
            call = method.prepare(inputs)
            for name in passes:
                gradient = _random_gradient(call, inputs.shape) if name == "both" else None
                timers[name] = PassTimer(
                    call, gradient, self.rates, repeats=self.repeats, budget_seconds=self.cell_seconds
                )
        except UnsuitableShapeError as error:
            return {}, str(error)
        except (RuntimeError, MemoryError) as error:
            if is_out_of_memory(error):
                return {}, "out of memory"
            if any(text in str(error) for text in UNSUPPORTED):
                return {}, f"no {inputs.shape.dtype}"
            raise
        for name, timer in timers.items():
            self.needed[method.name, name][inputs.shape.length] = (timer.peak_bytes, timer.first_seconds)
        return timers, None

    def _fitting(self, method: BenchMethod, length: int) -> tuple[Sequence[PassName], str | None]:
        """Name the passes of a method that are tried at this length, and word why the others are left out."""
        if length <= ALWAYS_TRIED:
            return self.passes, None
        known = self.needed[method.name, self.passes[0]]
        for probe in [each for each in PROBES if each not in known] if len(known) < 2 else ():
            _, reason = self._try(method, BenchInputs(replace(self.shape, length=probe)), self.passes)
            if reason:
                return (), reason
        for index, name in enumerate(self.passes):
            reason = self._too_much(self.needed[method.name, name], length)
            if reason:
                return self.passes[:index], f"{PASS_TITLES[name]}: {reason}" if index else reason
        return self.passes, None

    def _too_much(self, known: Mapping[int, tuple[int, float]], length: int) -> str | None:
        """Word why a pass would need too much at this length; None if it fits, or if nothing is known of it."""
        if len(known) < 2:
            return None
        points = sorted((at, *cost) for at, cost in known.items())
        needs = predict([(at, float(peak)) for at, peak, _ in points], length)
        seconds = predict([(at, time) for at, _, time in points], length)
        free = MEMORY_SHARE * free_bytes(self.rates.device)
        if needs > free:
            return f"needs {_gib(needs)}, {_gib(free)} may be taken"
        if seconds > self.cell_seconds:
            return f"a call takes about {seconds:,.0f} s, more than cell_seconds={self.cell_seconds:g}"
        return None


def _random_gradient(call: BenchCall, shape: BenchShape) -> Tensor:
    """Draw a gradient of a call's output."""
    with torch.no_grad():
        output_shape = call.forward().shape
    drawn = torch.randn(output_shape, generator=torch.Generator().manual_seed(1))
    return drawn.to(device=shape.device, dtype=DTYPES[shape.dtype])


def _gib(count: float) -> str:
    return f"{count / 2**30:,.1f} GiB"
