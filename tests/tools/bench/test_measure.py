"""What is measured: memory, work, turns, and what is left out."""

import dataclasses
import re

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

import lra
from lra.tools.bench import measure
from lra.tools.bench.measure import Bench, predict
from lra.tools.bench.methods import BenchCall, BenchInputs, BenchMethod, BenchShape, UnsuitableShapeError, mixer_method
from lra.tools.bench.products import ProductRates, count_products
from lra.training.cost.memory import free_bytes, peak_extra_bytes

CPU = torch.device("cpu")
SHAPE = BenchShape(batch=2, heads=2, head_dim=4, length=8, dtype="float32", device="cpu")
PLAN = {"backward": True, "repeats": 2, "cell_seconds": 60}


@pytest.fixture
def quick(monkeypatch):
    """Memory is not measured: the profiler takes most of the time of a small cell."""

    def bytes_of(function, device):
        function()
        return 1000

    monkeypatch.setattr(measure, "peak_extra_bytes", bytes_of)


def method(name, forward):
    def prepare(inputs):
        return BenchCall(lambda: forward(inputs.planes_PTD), [inputs.planes_PTD])

    return BenchMethod(name=name, kind="attention", settings={"name": name}, prepare=prepare)


def bench_of(*methods, turns=None, **plan):
    turned = [] if turns is None else turns
    return Bench(methods, SHAPE, **{**PLAN, **plan}, advance=lambda name, length: turned.append((name, length)))


def last_cells(bench, length):
    *_, cells = bench.measure_length(length)
    return cells


def test_a_mixer_that_has_no_bfloat16_is_left_out(quick):
    shape = dataclasses.replace(SHAPE, dtype="bfloat16")
    mixers = lra.build_mixers(lra.compose("mixer=s4d"))
    s4d = mixer_method("s4d", {"name": "s4d"}, lambda dims: next(iter(mixers(dims, 1))))
    (measured,) = last_cells(Bench([s4d], shape, **PLAN, advance=lambda *_: None), 64)
    assert measured["left_out"] == "no bfloat16"


@pytest.mark.slow
def test_the_peak_counts_what_is_held_at_once():
    x = torch.randn(250_000)

    def three_then_one():
        y = x * 2
        z = y + y
        del y
        return z

    assert peak_extra_bytes(three_then_one, CPU) == pytest.approx(2 * x.nbytes, rel=0.001)
    assert peak_extra_bytes(lambda: x.view(500, 500), CPU) == 0


def test_memory_is_free():
    assert 2**20 < free_bytes(CPU) < 2**50


def test_products_inside_of_fused_attention_count():
    q, k = torch.randn(2, 3, 7, 4, requires_grad=True), torch.randn(2, 3, 9, 4)
    scores, weighted = (6, 7, 4, 9), (6, 7, 9, 4)
    assert count_products(lambda: scaled_dot_product_attention(q, k, k)) == {scores: 1, weighted: 1}
    counts = count_products(lambda: scaled_dot_product_attention(q, k, k).sum().backward())
    assert sum(counts.values()) == 2 + 5
    assert count_products(lambda: q[0, 0] @ k[0, 0].T) == {(1, 7, 4, 9): 1}


def test_the_time_of_plain_products_grows_with_their_number():
    rates = ProductRates(CPU, torch.float32)
    assert rates.seconds({(1, 8, 8, 8): 6}) == pytest.approx(6 * rates.seconds({(1, 8, 8, 8): 1}))


@pytest.mark.parametrize("cost", [lambda n: 3.0 * n, lambda n: 5.0 * n * n, lambda n: 2.0 * n + n * n])
def test_a_prediction_is_exact_for_linear_and_quadratic_cost(cost):
    assert predict([(n, cost(n)) for n in (64, 128, 256)], 4096) == pytest.approx(cost(4096))


def test_a_prediction_is_never_below_the_line_through_zero():
    assert predict([(256, 10.0), (512, 11.0)], 1024) == 22.0


@pytest.mark.slow
def test_methods_take_turns_and_each_cell_has_all_of_them():
    turns, kept = [], []
    bench = bench_of(method("a", torch.sin), method("b", torch.exp), turns=turns)
    for cells in bench.measure_length(8):
        kept.append([len(each["both"]["seconds"]) for each in cells])
    assert turns == [("a", 8), ("b", 8)] * 2
    assert kept == [[1, 1], [2, 2]]
    size = 3 * 2 * 8 * 8 * 4
    assert cells[0]["forward"]["peak_bytes"] == size
    assert cells[0]["both"]["peak_bytes"] >= 2 * size, "output and gradient"


def test_what_fails_for_memory_or_shape_is_a_cell_that_says_so(quick):
    def full(_):
        raise MemoryError

    def odd(inputs):
        raise UnsuitableShapeError("the length must be a multiple of 64")

    strange = BenchMethod(name="odd", kind="peer", settings={}, prepare=odd)
    cells = last_cells(bench_of(method("full", full), strange, method("fine", torch.sin)), 8)
    assert [each.get("left_out") for each in cells] == ["out of memory", "the length must be a multiple of 64", None]


def test_a_forward_pass_stores_nothing_for_a_backward_pass_also_while_its_work_is_counted(quick):
    stored = []

    def forward(x):
        y = torch.sin(x)
        stored.append(y.requires_grad)
        return y

    last_cells(bench_of(method("a", forward), backward=False, repeats=1), 8)
    assert len(stored) > 2
    assert not any(stored)


def test_another_error_is_not_hidden(quick):
    def broken(_):
        raise RuntimeError("shapes differ")

    with pytest.raises(RuntimeError, match="shapes differ"):
        last_cells(bench_of(method("broken", broken)), 8)


@pytest.mark.parametrize(
    "free, seconds, said",
    [(2**10, 60, "needs 0.0 GiB"), (2**50, 1e-9, r"a call takes about \d+ s, more than cell_seconds=1e-09")],
)
def test_what_would_not_fit_is_left_out_before_it_is_tried(quick, monkeypatch, free, seconds, said):
    monkeypatch.setattr(measure, "free_bytes", lambda _: free)
    bench = bench_of(method("a", torch.sin), backward=False, repeats=1, cell_seconds=seconds)
    (left_out,) = last_cells(bench, 65_536)
    assert re.search(said, left_out["left_out"])


def test_a_length_that_is_known_twice_predicts_too(quick, monkeypatch):
    """One that was tried as a probe before, or measured by an earlier command, is measured again."""
    monkeypatch.setattr(measure, "ALWAYS_TRIED", 8)
    bench = bench_of(method("a", torch.sin), backward=False, repeats=1)
    for lengths in ((16, 8), (512, 512, 1024)):
        for length in lengths:
            (cell,) = last_cells(bench, length)
            bench.remember([cell])
            assert "forward" in cell
    assert list(bench.needed["a", "forward"]) == [256, 512, 16, 8, 1024]


def test_a_backward_pass_that_would_take_too_long_does_not_take_the_forward_pass_with_it(quick):
    bench = bench_of(method("a", torch.sin))
    for length in (512, 1024):
        known = {name: {"seconds": [seconds], "peak_bytes": 8} for name, seconds in (("forward", 0.1), ("both", 50.0))}
        bench.remember([{"method": "a", "length": length, **known}])
    (cell,) = last_cells(bench, 2048)
    assert len(cell["forward"]["seconds"]) == 2
    assert "both" not in cell
    assert cell["left_out"] == "forward + backward: a call takes about 100 s, more than cell_seconds=60"


def test_the_inputs_are_the_same_in_every_layout():
    inputs = BenchInputs(SHAPE)
    q_BHLE, k_BHLE, v_BHLE = inputs.by_head()
    assert inputs.x_BLD.equal(q_BHLE.transpose(1, 2).flatten(2))
    joined = torch.cat([x.transpose(1, 2).flatten(2) for x in (q_BHLE, k_BHLE, v_BHLE)], dim=2)
    assert inputs.joined_BLD.equal(joined)
    assert len(inputs.leaves()) == 3
