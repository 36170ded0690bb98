"""What a short time is spent on: the order of measurements, and when no more is begun."""

from __future__ import annotations

from lra.bench.gpu_units import Budget, Unit, units

ATTENTIONS = ["full", "nystrom", "linformer", "full", "nystrom"]  # of two tasks; the second has no linformer


def test_nystrom_and_exact_attention_of_every_task_come_before_all_others():
    order = units(ATTENTIONS, compiled=True, together=True)
    first = [Unit(kind, place) for kind in ("eager", "parity", "compiled") for place in (1, 4, 0, 3)]
    others = [Unit(kind, 2) for kind in ("eager", "parity", "compiled")]
    assert order == [*first, Unit("together", 1), *others]


def test_what_is_not_wanted_is_not_measured_and_a_table_without_the_first_two_has_an_order_too():
    assert units(["linformer"], compiled=False, together=False) == [Unit("eager", 0), Unit("parity", 0)]
    assert units(["linformer"], compiled=False, together=True)[-1] == Unit("together", 0)
    assert units([], compiled=True, together=True) == []


def test_nothing_is_begun_that_would_end_too_late():
    budget = Budget(100)
    assert budget.allows("eager")
    budget.spend("eager", 10)
    budget.spend("compiled", 60)
    assert not budget.allows("compiled"), "the next would end after 130 s"
    assert budget.allows("eager")
    budget.spend("eager", 29)
    assert not budget.allows("eager")
    assert budget.allows("parity"), "nothing is known of it, and a second is left"
