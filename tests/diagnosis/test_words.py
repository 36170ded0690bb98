"""What the page concludes from the numbers."""

from __future__ import annotations

import pytest

from lra.diagnosis.schema import Diagnosis, DiagnosisSubject, Head, Swap
from lra.diagnosis.sentences import answer, heads_table, swaps_table

CONVERGENCE = {"steps": [1], "residual": [0.1], "distance": [0.1]}


def swap(name: str, points: float, count: int | None = None) -> Swap:
    return Swap(name=name, num_landmarks=count, accuracy=0.9 + points, error=0.01, difference=points,
                difference_error=0.0 if name == "trained" else 0.01, agreement=1.0)  # fmt: skip


def diagnosis(error: float, *swaps: Swap, condition: float | None = 3.25) -> Diagnosis:
    head = Head(
        matrix_error=error, spectral_error=error, output_error=error, uniform_error=0.6, effective_rank=12.34,
        rank_99=5.0, landmark_condition=condition, curves=[], convergence=CONVERGENCE,
    )  # fmt: skip
    subject = DiagnosisSubject(
        run="r", task="t", attention="nystrom", protocol="p", size="s", seed=0, is_nystrom=True, num_landmarks=64,
        sequences=4, tokens=50.0, examples=1000, majority_rate=0.5,
    )  # fmt: skip
    return Diagnosis(version=1, subject=subject, layers=[[head]], swaps=list(swaps))


@pytest.mark.parametrize(
    "error, exact, none, said",
    [
        (0.05, 0.0, -0.3, "good because it is near"),
        (0.5, 0.01, -0.3, "as well: what the error changes is mostly not what"),
        (0.5, -0.03, -0.4, "nearly as well (it keeps 92% of what attention brings): what the error"),
        (0.05, -0.03, -0.4, "nearly as well (it keeps 92% of what attention brings): it is good because"),
        (0.5, -0.2, -0.3, "good for another reason"),
        (0.05, -0.2, -0.3, "small errors"),
        (0.5, 0.05, -0.3, "costs accuracy"),
        (0.5, -0.2, 0.01, "no worse without attention"),
        (0.5, -0.2, 0.05, "no worse without attention"),
    ],
)
def test_the_verdict(error, exact, none, said):
    lines = answer(diagnosis(error, swap("trained", 0.0), swap("exact", exact), swap("none", none)))
    assert f"differ from the exact ones by {error:.1%}" in lines[0]
    assert "would differ by 60.0%" in lines[0]
    assert said in lines[2]


def test_the_fewest_landmarks_that_do_as_well():
    swaps = [swap("trained", 0.0), swap("exact", 0.0), swap("none", -0.3)]
    few = [swap("nystrom", -0.2, 8), swap("nystrom", -0.01, 16), swap("nystrom", 0.0, 128)]
    assert answer(diagnosis(0.1, *swaps, *few))[-1].endswith("as trained: 16.")
    assert answer(diagnosis(0.1, *swaps, few[0]))[-1].endswith("as trained: 64."), "its own number"


def test_tables_show_what_was_measured():
    (row,) = heads_table(diagnosis(0.123, condition=None)).rows
    assert row == ["layer 1, head 1", "12.3%", "12.3%", "12.3%", "60.0%", "12.3", "5.0", "∞"]
    swaps = (swap("none", -0.25), swap("trained", 0.0), swap("nystrom", -0.1, 1), swap("exact inverse", 0.0, 64))
    assert [row[:3] for row in swaps_table(diagnosis(0.1, *swaps)).rows] == [
        ["as trained", "90.0% ± 1.0", "–"],
        ["64 landmarks, exact inverse", "90.0% ± 1.0", "+0.0 ± 1.0 points"],
        ["1 landmark", "80.0% ± 1.0", "−10.0 ± 1.0 points"],
        ["no attention", "65.0% ± 1.0", "−25.0 ± 1.0 points"],
    ]
