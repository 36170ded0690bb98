"""What the page concludes from the numbers: numbers and kinds, not their wording."""

import pytest

from lra.tools.diagnosis.schema import Diagnosis, DiagnosisSubject, Head, Swap
from lra.tools.diagnosis.sentences import (
    VERDICTS,
    answer,
    fewest_landmarks,
    heads_table,
    retained,
    swaps_table,
    verdict,
)

CONVERGENCE = {"steps": [1], "residual": [0.1], "distance": [0.1]}


def swap(name: str, points: float, count: int | None = None) -> Swap:
    return Swap(name=name, num_landmarks=count, accuracy=0.9 + points, error=0.01, difference=points,
                difference_error=0.0 if name == "trained" else 0.01, agreement=1.0)  # fmt: skip


def diagnosis(error: float, *swaps: Swap, majority: float = 0.5, condition: float | None = 3.25) -> Diagnosis:
    head = Head(
        matrix_error=error, spectral_error=error, output_error=error, uniform_error=0.6, effective_rank=12.34,
        rank_99=5.0, landmark_condition=condition, curves=[], convergence=CONVERGENCE,
    )  # fmt: skip
    subject = DiagnosisSubject(
        run="r", task="t", attention="nystrom", protocol="p", size="s", seed=0, is_nystrom=True, num_landmarks=64,
        sequences=4, tokens=50.0, examples=1000, majority_rate=majority,
    )  # fmt: skip
    return Diagnosis(version=1, subject=subject, layers=[[head]], swaps=list(swaps))


@pytest.mark.parametrize(
    "error, exact, none, kind, part",
    [
        (0.05, 0.0, -0.3, "close", 1.0),
        (0.5, 0.01, -0.3, "unused", 1.033),
        (0.5, -0.03, -0.4, "unused", 0.925),
        (0.05, -0.03, -0.4, "close", 0.925),
        (0.5, -0.2, -0.3, "adapted", 0.333),
        (0.05, -0.2, -0.3, "adapted", 0.333),
        (0.5, 0.05, -0.3, "harmful", None),
        (0.5, -0.2, 0.01, "needless", None),
        (0.5, -0.2, 0.05, "needless", None),
        (0.5, 0.05, 0.01, "harmful", None),
        (0.0, 0.0, -0.3, "exact", None),
    ],
)
def test_the_verdict_and_the_numbers_behind_it(error, exact, none, kind, part):
    made = diagnosis(error, swap("trained", 0.0), swap("exact", exact), swap("none", none))
    assert verdict(made) == kind
    text = " ".join(answer(made))
    assert VERDICTS[kind] in text
    for number in (f"{error:.1%}", "60.0%", "90.0% ± 1.0", f"{0.9 + exact:.1%} ± 1.0", f"{0.9 + none:.1%} ± 1.0"):
        assert number in text
    if part is not None:
        assert retained(made) == pytest.approx(part, abs=5e-4)
        assert f"{part:.0%}" in text


@pytest.mark.parametrize("majority", [0.9, 0.95, 0.88])
@pytest.mark.parametrize(
    "error, exact, none", [(0.5, -0.2, 0.01), (0.5, 0.0, -0.3), (0.05, -0.2, -0.3), (0.0, 0.0, 0.0)]
)
def test_a_model_at_or_below_the_majority_class_is_to_be_trained_first(majority, error, exact, none):
    """Three standard errors above 88 % of 1,000 examples are 91.1 %; the model has 90 %."""
    swaps = (swap("trained", 0.0), swap("exact", exact), swap("none", none), swap("nystrom", 0.0, 8))
    made = diagnosis(error, *swaps, majority=majority)
    assert verdict(made) == "majority"
    assert answer(made)[-1] == VERDICTS["majority"], "no landmarks are enough for such an accuracy"
    assert "train it first" in VERDICTS["majority"]


def test_an_untrained_model_has_errors_alone():
    text = " ".join(answer(diagnosis(0.5)))
    assert "50.0%" in text
    assert "±" not in text


def test_the_fewest_landmarks_that_do_as_well():
    swaps = [swap("trained", 0.0), swap("exact", 0.0), swap("none", -0.3)]
    few = [swap("nystrom", -0.2, 8), swap("nystrom", -0.01, 16), swap("nystrom", 0.0, 128)]
    assert fewest_landmarks(diagnosis(0.1, *swaps, *few)) == 16
    assert "16" in answer(diagnosis(0.1, *swaps, *few))[-1]
    assert fewest_landmarks(diagnosis(0.1, *swaps, few[0])) == 64, "its own number"
    other = diagnosis(0.1, *swaps, few[0])
    other["subject"]["is_nystrom"] = False
    assert fewest_landmarks(other) is None


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
