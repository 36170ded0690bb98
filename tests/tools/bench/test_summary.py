"""What is drawn from a bench record: crossover, exponent, verdicts, and the tables' words."""

import math

import numpy as np
import pytest
from scipy import stats

from lra.tools.bench.summary import (
    FUSED,
    MATH,
    crossover,
    product_share,
    quartiles,
    slower_at_lra_lengths,
    time_exponent,
)
from lra.tools.bench.tables import advantage, bench_markdown, csv_table, length_table, memory_and_time, summary_table
from tests.tools.bench.records import bench_record, measured

LENGTHS = (1024, 2048, 4096)


def quadratic(length: int) -> float:
    return (length / 1024) ** 2


def record_of(own):
    times = {
        FUSED: {length: quadratic(length) for length in LENGTHS},
        MATH: {1024: 2.0, 2048: 8.0, 4096: "needs 9.0 GiB, 3.0 GiB may be taken"},
        "mine": {length: own(length) for length in LENGTHS},
    }
    return bench_record(times)


def test_the_crossover_of_powers_is_where_they_meet():
    """Linear and quadratic time are straight lines on logarithmic axes, so interpolation is exact."""
    record = record_of(lambda length: 2.5 * length / 1024)
    assert crossover(record, "mine", "forward").length == pytest.approx(2.5 * 1024)
    assert str(crossover(record, "mine", "forward")) == "2,560", "turns with one ratio have no interval"


def test_the_interval_of_a_crossover_is_where_the_ratio_may_be_one():
    record = record_of(lambda length: 2.5 * length / 1024)
    for cell in record["cells"]:
        if cell["method"] == "mine":
            cell["forward"]["seconds"] = [factor * cell["forward"]["seconds"][1] for factor in (0.81, 1.0, 1.32)]
    found = crossover(record, "mine", "forward")
    logs = np.log([0.81 / 0.9, 1.0, 1.32 / 1.2])
    margin = stats.t.ppf(0.975, 2) * (math.pi / 2 / 3) ** 0.5 * logs.std(ddof=1)
    assert (found.low, found.high) == pytest.approx((2560 * math.exp(-margin), 2560 * math.exp(margin)))
    assert str(found) == f"2,560 [{found.low:,.0f}, {found.high:,.0f}]"
    for cell in record["cells"]:
        if cell["method"] == "mine":
            cell["forward"]["seconds"][0] /= 3
    assert str(crossover(record, "mine", "forward")) == "2,560 [≤ 1,024, > 4,096]"


@pytest.mark.slow
@pytest.mark.parametrize("factor", [2.0, 2.5])
@pytest.mark.parametrize("turns", [3, 5])
def test_the_interval_of_a_crossover_covers_it(turns, factor):
    rng, hits = np.random.default_rng(0), []
    for _ in range(1000):
        record = record_of(lambda length: factor * length / 1024)
        for length in LENGTHS:
            load = rng.lognormal(0, 0.2, turns)  # of the machine: in one turn all methods have it
            for cell in record["cells"]:
                if cell["length"] == length and "forward" in cell:
                    noise = load * rng.lognormal(0, 0.05, turns)
                    cell["forward"]["seconds"] = list(cell["forward"]["seconds"][1] * noise)
        found = crossover(record, "mine", "forward")
        hits.append((found.low or math.inf) <= factor * 1024 <= (found.high or math.inf))
    assert np.mean(hits) > 0.94, "between two lengths it is wider than it need be"


@pytest.mark.parametrize("factor, said", [(9.0, "none up to 4,096"), (0.5, "≤ 1,024")])
def test_a_crossover_outside_of_what_is_measured_is_not_invented(factor, said):
    assert str(crossover(record_of(lambda length: factor * length / 1024), "mine", "forward")) == said


def test_a_method_that_falls_back_behind_crosses_where_it_stays_ahead():
    record = record_of({1024: 0.5, 2048: 8.0, 4096: 8.0}.get)
    assert 2048 < crossover(record, "mine", "forward").length < 4096


def test_the_exponent_is_that_of_the_two_largest_measured_lengths():
    record = record_of(lambda length: length**1.1)
    assert time_exponent(record, "mine", "forward") == pytest.approx(1.1)
    assert time_exponent(record, MATH, "forward") == pytest.approx(2.0)


def test_the_quartiles_of_one_turn_are_its_own():
    assert quartiles({**measured(1.0), "seconds": [3.0]}) == (3.0, 3.0)
    low, high = quartiles(measured(1.0))
    assert (low, high) == (pytest.approx(0.95), pytest.approx(1.1))


@pytest.mark.parametrize(("product_seconds", "share"), [(0.5, 0.5), (1.05, 1.05), (0.0, None), (3.0, None)])
def test_a_rate_far_above_that_of_plain_products_is_none(product_seconds, share):
    assert product_share({**measured(1.0), "product_seconds": product_seconds}) == share


def test_what_is_slower_than_fused_at_lra_lengths_is_said():
    record = record_of(lambda length: 2.5 * length / 1024)
    assert slower_at_lra_lengths(record, "forward") == {"mine": [1024, 2048]}
    assert "Slower than fused full in forward at L = 1,024, 2,048: mine." in summary_table(record).notes


def test_a_length_has_ratios_to_both_kernels_and_says_what_is_left_out():
    table = length_table(record_of(lambda length: length / 1024), 2048)
    (row,) = [dict(zip(table.columns, row, strict=True)) for row in table.rows if row[0] == "mine"]
    assert row["tokens/s"] == "1,024"
    assert (row["forward ms"], row["MiB"], row["/ fused"], row["/ math"]) == ("2,000", "1.00", "0.50×", "0.25×")
    large = length_table(record_of(lambda length: length / 1024), 4096)
    assert large.notes == ["full math at 4,096: needs 9.0 GiB, 3.0 GiB may be taken"]
    assert large.rows[1][1:] == ["–"] * 6


def test_the_papers_layout_is_per_instance():
    times = {FUSED: {512: 0.004}, MATH: {512: 0.008}, "mine": {512: 0.002}}
    record = bench_record(times, batch=4)
    (row,) = memory_and_time(record, "forward").rows
    assert row == ["512", "0.25 / 1.00", "0.25 / 2.00", "0.25 / 0.50"]
    (row,) = advantage(record, "forward", MATH).rows
    assert row == ["512", "1.0× / 2.00×", "1.0× / 1.00×", "1.0× / 4.00×"]


def test_markdown_and_csv_hold_every_pass():
    record = bench_record({FUSED: {512: 1.0}, MATH: {512: "out of memory"}}, backward=True)
    text = bench_markdown(record)
    assert "**forward + backward, MiB / ms per instance" in text
    assert "left out" in text
    assert "full math at 512: out of memory" in text
    lines = csv_table(record).to_csv().splitlines()
    assert len(lines) == 5
    assert [line for line in lines if "out of memory" in line]
    assert math.isclose(float(lines[2].split(",")[4]), 2.0)
