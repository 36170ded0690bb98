"""Which points W&B has been given: kept in a file of the run, for each W&B run, whatever a kill has left of it."""

import pytest

from lra.training.wandb_points import SentPoints
from lra.types import UserError


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "wandb_points.csv"
    sent = SentPoints(path)
    sent.add("mine0000", 1, ["train/loss", 'of, "mine"'])
    sent.add("mine0000", 2, ["dev/loss"])
    return path


POINTS = {(1, "train/loss"), (1, 'of, "mine"'), (2, "dev/loss")}


def test_without_a_file_nothing_was_sent_and_none_is_made(tmp_path):
    assert SentPoints(tmp_path / "wandb_points.csv").earlier == {}
    assert not list(tmp_path.iterdir())


def test_the_points_of_earlier_processes_are_known_for_each_run_of_wandb(file):
    assert SentPoints(file).earlier == {"mine0000": POINTS}
    SentPoints(file).add("other000", 1, ["train/loss"])
    assert SentPoints(file).earlier == {"mine0000": POINTS, "other000": {(1, "train/loss")}}


@pytest.mark.parametrize("cut", [1, 3, 10, 17])
def test_a_line_that_a_kill_has_cut_short_is_sent_again(file, cut):
    """The last line has 19 bytes; what follows begins a line of its own."""
    file.write_bytes(file.read_bytes()[:-cut])
    sent = SentPoints(file)
    assert sent.earlier == {"mine0000": POINTS - {(2, "dev/loss")}}
    sent.add("mine0000", 3, ["train/loss"])
    assert SentPoints(file).earlier == {"mine0000": POINTS - {(2, "dev/loss")} | {(3, "train/loss")}}


@pytest.mark.parametrize("text", ["step\n", "mine0000,two,dev/loss\n", "\n", "\0\n"])
def test_another_file_is_refused(file, text):
    file.write_text(text)
    with pytest.raises(UserError) as refused:
        SentPoints(file)
    assert (refused.value.kind, refused.value.key) == ("foreign_file", str(file))
