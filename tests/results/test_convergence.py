"""When runs leave the plateau of the majority class, from the dev passes in their records."""

import json

import matplotlib.pyplot as plt
import pytest

from lra.results.dev_curves import convergence_notes, convergence_step, dev_curves
from lra.results.plot_curves import plot_curves
from lra.runs.record import parse_record
from lra.types import UserError
from tests.results.records import make_record


def with_curve(accuracies, seed=0, every=50, **more):
    record = make_record(seed=seed, **more)
    record["outcome"] |= {
        "dev_examples": 2000,
        "dev_curve": {"step": [every * (number + 1) for number in range(len(accuracies))], "accuracy": accuracies},
    }
    return record


def test_a_run_leaves_with_the_first_pass_after_which_all_are_clear_of_the_majority_class():
    """Three standard errors above 17 % of 2,000 examples are 19.52 %."""
    other = with_curve([0.17, 0.195, 0.196, 0.35], task="image")
    other["outcome"]["majority_rate"] = 0.17
    assert convergence_step(other) == 150
    assert convergence_step(with_curve([0.30, 0.17, 0.30, 0.31])) == 150, "a pass back on it does not count"
    assert convergence_step(with_curve([0.30, 0.30, 0.18])) is None
    assert convergence_step(make_record()) is None, "an older record has no curve"


def test_on_listops_it_leaves_with_25_percent():
    assert convergence_step(with_curve([0.17, 0.20, 0.249, 0.25, 0.35])) == 200


def test_the_note_counts_seeds_and_names_the_steps_of_each_variant():
    records = [with_curve([0.17, 0.3, 0.3]), with_curve([0.17, 0.17, 0.17], seed=1), make_record(seed=2)]
    records += [with_curve([0.3, 0.3, 0.3], attention="full")]
    (note,) = convergence_notes(records)
    assert "full 1 of 1 (step 50); nystrom 1 of 2 (step 100)." in note
    assert convergence_notes([make_record()]) == []


@pytest.mark.parametrize(
    "curve",
    [
        {"step": [10, 10], "accuracy": [0.1, 0.2]},
        {"step": [10], "accuracy": [0.1, 0.2]},
        {"step": [10, 6000], "accuracy": [0.1, 0.2]},
        {"step": [10], "accuracy": [1.2]},
    ],
)
def test_a_record_whose_curve_cannot_be_is_refused(curve, tmp_path):
    record = with_curve([0.2, 0.3])
    parse_record(json.dumps(record), tmp_path)
    record["outcome"]["dev_curve"] = curve
    with pytest.raises(UserError, match="dev_curve"):
        parse_record(json.dumps(record), tmp_path)


def test_the_figure_has_a_panel_for_each_variant_and_a_line_for_each_seed(tmp_path, monkeypatch):
    records = [with_curve([0.17, 0.3]), with_curve([0.17, 0.2], seed=1), with_curve([0.2, 0.3], attention="full")]
    monkeypatch.setattr(plt, "close", lambda figure: None)
    path = plot_curves(dev_curves(records), tmp_path / "curves.png", title="listops", majority_rate=0.17)
    drawn = {axis.get_title(): [list(line.get_ydata()) for line in axis.lines[:-1]] for axis in plt.gcf().axes}
    assert drawn == {"Softmax attention": [[20, 30]], "Nyströmformer": [[17, 30], [17, 20]]}
    names = [text.get_text() for text in plt.gcf().legends[0].get_texts()]
    assert names == ["seed 0", "seed 1", "majority class of the test split 17.0"]
    assert path.read_bytes().startswith(b"\x89PNG")


def test_what_is_not_known_is_not_counted_as_never_left():
    unknown = with_curve([0.17, 0.3], attention="full")
    del unknown["outcome"]["dev_examples"]
    (note,) = convergence_notes([unknown, with_curve([0.17, 0.3])])
    assert "full" not in note
    assert "nystrom 1 of 1" in note
    assert convergence_notes([unknown]) == []
