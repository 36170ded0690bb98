"""The landmark sweep's table and figure."""

from __future__ import annotations

import pytest

from lra.results.landmarks import landmark_points, landmark_table
from lra.results.plot_landmarks import plot_landmarks
from tests.results.records import make_record


def sweep():
    records = []
    for count in (64, 16):
        for seed in range(2):
            record = make_record(seed=seed, accuracy=0.30 + count / 1000 + seed / 100, num_landmarks=count)
            record["approximation"] = {"pinv_residual": 0.1 / count, "attention_error": 1 / count + seed / 100}
            records.append(record)
    return [*records, make_record(attention="full", accuracy=0.40), make_record(attention="linformer", accuracy=0.9)]


def test_one_row_for_each_count_in_order_and_exact_attention_last():
    table = landmark_table(landmark_points(sweep()), title="ListOps")
    assert [row[0] for row in table.rows] == ["16", "64", "exact"]
    assert table.rows[0][1] == "32.10 ± 0.71 (2)"
    assert table.rows[1][4:] == ["0.0016", "0.021"]
    assert table.rows[2][1] == "40.00 (1)"
    assert table.rows[2][4:] == ["–", "–"]
    assert "0.0675" in table.to_csv().splitlines()[1]


def test_without_records_it_says_what_to_type():
    assert landmark_table([], title="").notes == ["No record yet: lra sweep landmarks makes them."]


@pytest.mark.slow
def test_the_figure_is_drawn(tmp_path):
    path = plot_landmarks(landmark_points(sweep()), tmp_path / "f.png", title="ListOps", majority_rate=0.17)
    assert path.stat().st_size > 20_000
    only = [point for point in landmark_points(sweep()) if point.num_landmarks is None]
    plot_landmarks(only, tmp_path / "g.png", title="exact alone", majority_rate=0.17)


def test_the_convergence_step_of_each_seed_is_shown():
    def record(seed, accuracies):
        made = make_record(seed=seed, accuracy=accuracies[-1])
        made["outcome"] |= {"dev_curve": {"step": [10, 20, 30], "accuracy": accuracies}, "dev_examples": 2000}
        return made

    seeds = [record(2, [0.3, 0.17, 0.35]), record(0, [0.17, 0.33, 0.35]), record(1, [0.17, 0.17, 0.17])]
    (point,) = landmark_points(seeds)
    assert point.convergence_steps == {0: 20, 1: None, 2: 30}
    table = landmark_table([point], title="ListOps")
    assert table.rows[0][table.columns.index("converged at step")] == "20, –, 30"
    assert "converged at step" not in landmark_table(landmark_points(sweep()), title="").columns, "none recorded"
