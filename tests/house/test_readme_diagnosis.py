"""What the documents say of a trained model's attention is in the committed record of `lra diagnose`."""

from __future__ import annotations

from pathlib import Path
from statistics import mean

import pytest

from lra.diagnosis.schema import read_diagnosis

ROOT = Path(__file__).resolve().parents[2]
DIAGNOSIS = read_diagnosis(ROOT / "runs/published/diagnosis_pathfinder.json")
TEXT = " ".join((ROOT / "docs/results.md").read_text().split())
README = " ".join((ROOT / "README.md").read_text().split())


@pytest.mark.parametrize(
    "name, landmarks, words",
    [
        ("exact", None, "exact attention"),
        ("exact inverse", 64, "64 landmarks, exact inverse"),
        ("nystrom", 128, "128 landmarks"),
        ("nystrom", 32, "32 landmarks"),
        ("nystrom", 16, "16 landmarks"),
        ("nystrom", 8, "8 landmarks"),
        ("none", None, "no attention"),
    ],
)
def test_each_swap_is_its_record(name, landmarks, words):
    (swap,) = [s for s in DIAGNOSIS["swaps"] if s["name"] == name and s["num_landmarks"] in (landmarks, None)]
    difference, error = 100 * swap["difference"], 100 * swap["difference_error"]
    row = f"| {words} | {100 * swap['accuracy']:.1f} % | −{-difference:.1f} ± {error:.1f} |"
    assert row in TEXT


def test_k_means_has_the_share_of_the_error_that_is_named():
    shares = []
    for head in (head for layer in DIAGNOSIS["layers"] for head in layer):
        errors = {
            curve["method"]: dict(zip(curve["num_landmarks"], curve["matrix_error"], strict=True))
            for curve in head["curves"]
        }
        shares += [errors["kmeans"][count] / errors["segment_means"][count] for count in (8, 16, 32, 64)]
    least, most = (f"{share:.1f}".lstrip("0") for share in (min(shares), max(shares)))
    assert f"those of k-means have {least} to {most} of the error of segment means" in TEXT


def test_the_errors_are_those_of_the_heads():
    heads = [head for layer in DIAGNOSIS["layers"] for head in layer]
    assert f"by {100 * mean(h['matrix_error'] for h in heads):.1f} %;" in TEXT
    assert f"equal weights would differ by {100 * mean(h['uniform_error'] for h in heads):.1f} %" in TEXT


def test_the_readme_has_the_most_important_of_them():
    heads = [head for layer in DIAGNOSIS["layers"] for head in layer]
    found = {(swap["name"], swap["num_landmarks"]): f"{100 * swap['accuracy']:.1f} %" for swap in DIAGNOSIS["swaps"]}
    exact, none, trained = (found[name, None] for name in ("exact", "none", "trained"))
    assert f"matrices differ from the exact ones by {100 * mean(h['matrix_error'] for h in heads):.1f} %." in README
    assert f"On dev examples the model has {trained}." in README
    assert (
        f"in place of its own has {exact}, 8 landmarks have {found['nystrom', 8]}, and no attention has {none}"
        in README
    )
