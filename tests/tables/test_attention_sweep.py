"""Tables and figures of sweeps over landmarks and over the width of local attention."""

import pytest

from lra.tables.attention_sweep import LANDMARKS, WINDOW, sweep_points, sweep_ranges, sweep_table
from lra.tables.figures.attention_sweep import plot_sweep
from tests.tables.records import make_record, with_setting


def sweep():
    records = []
    for count in (64, 16):
        for seed in range(2):
            record = make_record(seed=seed, accuracy=0.30 + count / 1000 + seed / 100, num_landmarks=count)
            record["approximation"] = {"pinv_residual": 0.1 / count, "attention_error": 1 / count + seed / 100}
            records.append(record)
    return [*records, make_record(attention="full", accuracy=0.40), make_record(attention="linformer", accuracy=0.9)]


def test_one_row_for_each_count_in_order_and_exact_attention_last():
    table = sweep_table(sweep_points(sweep(), LANDMARKS), LANDMARKS, title="ListOps")
    assert [row[0] for row in table.rows] == ["16", "64", "exact"]
    assert table.rows[0][1] == "32.10 ± 0.71 (2)"
    assert table.rows[1][4:] == ["0.0016", "0.021"]
    assert table.rows[2][1] == "40.00 (1)"
    assert table.rows[2][4:] == ["–", "–"]
    assert "0.0675" in table.to_csv().splitlines()[1]


def test_without_records_it_says_what_to_type():
    assert sweep_table([], LANDMARKS, title="").notes == []


@pytest.mark.slow
def test_the_figure_is_drawn(tmp_path):
    points = sweep_points(sweep(), LANDMARKS)
    path = plot_sweep(points, LANDMARKS, tmp_path / "f.png", title="ListOps", majority_rate=0.17).path
    assert path.stat().st_size > 20_000


def test_the_convergence_step_of_each_seed_is_shown():
    def record(seed, accuracies):
        made = make_record(seed=seed, accuracy=accuracies[-1])
        made["outcome"] |= {"dev_curve": {"step": [10, 20, 30], "accuracy": accuracies}, "dev_examples": 2000}
        return made

    seeds = [record(2, [0.3, 0.17, 0.35]), record(0, [0.17, 0.33, 0.35]), record(1, [0.17, 0.17, 0.17])]
    (point,) = sweep_points(seeds, LANDMARKS)
    assert point.convergence_steps == {0: 20, 1: None, 2: 30}
    table = sweep_table([point], LANDMARKS, title="ListOps")
    assert table.rows[0][table.columns.index("converged at step")] == "20, –, 30"
    unrecorded = sweep_table(sweep_points(sweep(), LANDMARKS), LANDMARKS, title="")
    assert "converged at step" not in unrecorded.columns


def window(width_4=0.30):
    """Three seeds each of `none` at 20 %, averaging, widths 4 and 16, and exact attention at 40 %."""
    records = []
    means = {"full": 0.40, 16: 0.395, 4: width_4, "average": 0.25, "none": 0.20}
    for of, accuracy in means.items():
        for seed in range(3):
            record = make_record(attention="full", seed=seed, accuracy=accuracy + seed / 1000)
            method, options = ("local", {"block_length": of}) if isinstance(of, int) else (of, {})
            record["identity"]["attention"] = record["settings"]["attention"]["name"] = method
            record["settings"]["attention"] |= options
            records.append(record)
    return records


def test_a_window_has_its_widths_in_order_then_what_has_none_and_its_range():
    points = sweep_points(window(), WINDOW)
    assert [point.name for point in points] == ["4", "16", "none", "average", "exact"]
    (found,) = sweep_ranges(points, WINDOW).values()
    assert (found.width, found.low) == (16, 16)
    assert found.gain == pytest.approx(20)
    table = sweep_table(points, WINDOW, title="ListOps")
    assert str(found) in table.notes[0]
    assert [row["range"] for row in table.csv_rows] == ["16", "16", "", "", ""]
    assert "inverse" not in table.columns


def test_a_range_is_that_of_runs_with_the_same_other_settings():
    other = [with_setting(record, "recipe.batch_size", 64) for record in window(0.40)]
    ranges = sweep_ranges(sweep_points([*window(), *other], WINDOW), WINDOW)
    assert {name: found.width for name, found in ranges.items()} == {"local": 16, "local (recipe.batch_size=64)": 4}
    lone = [record for record in other if record["identity"]["attention"] == "local"]
    ranges = sweep_ranges(sweep_points([*window(), *lone], WINDOW), WINDOW)
    assert {name: found.width for name, found in ranges.items()} == {"local": 16, "local (recipe.batch_size=64)": None}
    assert "none" in ranges["local (recipe.batch_size=64)"].why
    assert sweep_ranges(sweep_points(sweep(), LANDMARKS), LANDMARKS) == {}, "it has no none beside it"
