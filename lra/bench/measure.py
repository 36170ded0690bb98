"""Measure methods length by length: at each length they take turns, so that other load slows all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence

import torch

from lra.base.signals import check_stopped
from lra.bench.cell import PassTimer, pass_timers
from lra.bench.inputs import DTYPES, BenchInputs, BenchShape
from lra.bench.methods import BenchMethod, UnsuitableShapeError
from lra.bench.products import ProductRates
from lra.bench.record import PASS_TITLES, PASSES, BenchCell
from lra.bench.roofline import MEMORY_SHARE, predict
from lra.bench.summary import pass_of
from lra.timing.memory import free_bytes
from lra.training.memory import is_out_of_memory

PROBES = (256, 512)  # lengths that are tried, not timed, when there are none to predict a longer one from
ALWAYS_TRIED = 1024  # up to this length nothing is predicted
UNSUPPORTED = (  # words of torch for a dtype that an operator does not take
    *("not implemented for", "same dtype", "Unsupported dtype", "expected scalar type", "without overflow"),
    "Expected both inputs to be",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class BenchPlan:
    """How much is measured.

    Attributes:
        backward: whether forward and backward passes are measured beside forward passes.
        repeats: turns of each cell.
        cell_seconds: the longest time of a pass's turns; a single call that would take longer is left out.
    """

    backward: bool
    repeats: int
    cell_seconds: float


class Bench:
    """Measures methods at growing lengths, and remembers what each has needed.

    Args:
        methods: what is measured.
        shape: the shape; its length is not used.
        plan: how much is measured.
        advance: gets method and length after each turn, for a progress bar.
    """

    def __init__(
        self, methods: Sequence[BenchMethod], shape: BenchShape, plan: BenchPlan, advance: Callable[[str, int], object]
    ):
        self.methods, self.shape, self.plan, self.advance = methods, shape, plan, advance
        self.device = torch.device(shape.device)
        self.rates = ProductRates(self.device, DTYPES[shape.dtype])
        self.passes = PASSES if plan.backward else PASSES[:1]
        self.needed: dict[tuple[str, str], dict[int, tuple[int, float]]] = {
            (method.name, name): {} for method in methods for name in self.passes
        }

    def remember(self, cells: Sequence[BenchCell]) -> None:
        """Take what an earlier measurement needed as known."""
        for cell in cells:
            for name in self.passes:
                measured = pass_of(cell, name)
                if measured and (cell["method"], name) in self.needed:
                    needed = (measured["peak_bytes"], min(measured["seconds"]))
                    self.needed[cell["method"], name][cell["length"]] = needed

    def measure_length(self, length: int, keep: Callable[[list[BenchCell]], object]) -> list[BenchCell]:
        """Measure all methods at one length.

        Args:
            length: L.
            keep: gets the cells after each round of turns, so that an interruption loses little.
        """
        inputs = BenchInputs(self.shape.at(length))
        timers: dict[str, dict[str, PassTimer]] = {}
        left_out: dict[str, str] = {}
        for method in self.methods:
            check_stopped()
            passes, trouble = self._fitting(method, length)
            if passes:
                timers[method.name], failure = self._try(method, inputs, passes)
                trouble = failure or trouble
            if trouble:
                left_out[method.name] = trouble
        cells: list[BenchCell] = []
        for _ in range(self.plan.repeats):
            for method in self.methods:
                for timer in timers.get(method.name, {}).values():
                    check_stopped()
                    timer.turn()
                self.advance(method.name, length)
            cells = self._cells(length, timers, left_out)
            keep(cells)
        return cells

    def _cells(self, length: int, timers: dict[str, dict[str, PassTimer]], left_out: dict[str, str]) -> list[BenchCell]:
        cells: list[BenchCell] = []
        for method in self.methods:
            cell: BenchCell = {"method": method.name, "length": length}
            if method.name in left_out:
                cell["left_out"] = left_out[method.name]
            for name, timer in timers.get(method.name, {}).items():
                cell["forward" if name == "forward" else "both"] = timer.result()
            cells.append(cell)
        return cells

    def _try(
        self, method: BenchMethod, inputs: BenchInputs, passes: Sequence[str]
    ) -> tuple[dict[str, PassTimer], str | None]:
        """Try these passes once; also return why the method is left out, if it is."""
        plan = self.plan
        try:
            timers = pass_timers(
                method,
                inputs,
                self.rates,
                passes=passes,
                repeats=plan.repeats,
                budget_seconds=plan.cell_seconds,
            )
        except UnsuitableShapeError as error:
            return {}, str(error)
        except (RuntimeError, MemoryError) as error:
            if is_out_of_memory(error):
                return {}, "out of memory"
            if any(words in str(error) for words in UNSUPPORTED):
                return {}, f"no {inputs.shape.dtype}"
            raise
        for name, timer in timers.items():
            self.needed[method.name, name][inputs.shape.length] = (timer.peak_bytes, timer.first_seconds)
        return timers, None

    def _fitting(self, method: BenchMethod, length: int) -> tuple[Sequence[str], str | None]:
        """Name the passes of a method that are tried at this length, and word why the others are left out."""
        if length <= ALWAYS_TRIED:
            return self.passes, None
        known = self.needed[method.name, self.passes[0]]
        for probe in [each for each in PROBES if each not in known] if len(known) < 2 else ():
            _, trouble = self._try(method, BenchInputs(self.shape.at(probe)), self.passes)
            if trouble:
                return (), trouble
        for place, name in enumerate(self.passes):
            trouble = self._too_much(self.needed[method.name, name], length)
            if trouble:
                return self.passes[:place], f"{PASS_TITLES[name]}: {trouble}" if place else trouble
        return self.passes, None

    def _too_much(self, known: Mapping[int, tuple[int, float]], length: int) -> str | None:
        """Word why a pass would need too much at this length; None if it fits, or if nothing is known of it."""
        if len(known) < 2:
            return None
        points = sorted((at, *cost) for at, cost in known.items())
        needs = predict([(at, float(peak)) for at, peak, _ in points], length)
        seconds = predict([(at, time) for at, _, time in points], length)
        free = MEMORY_SHARE * free_bytes(self.device)
        if needs > free:
            return f"needs {_gib(needs)}, {_gib(free)} may be taken"
        if seconds > self.plan.cell_seconds:
            return f"a call takes about {seconds:,.0f} s, more than cell_seconds={self.plan.cell_seconds:g}"
        return None


def _gib(count: float) -> str:
    return f"{count / 2**30:,.1f} GiB"
