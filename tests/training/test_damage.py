"""A run's files with a byte flipped, cut short or foreign: said in one line, nothing trained on, nothing stuck."""

import contextlib
import json
import random

import pytest
import torch

from lra.cli import main
from lra.training.checkpoints import best_dev_pass, read_checkpoint
from lra.training.curves import read_curves
from lra.training.loggers import CurveLogger, wandb_id
from lra.training.resume import saved_batch_parts, saved_dev_passes, saved_step_and_end
from lra.types import UserError

COMMAND = ("train", "size=tiny", "recipe.steps=4", "recipe.eval_every=2", "logger=csv")


@pytest.fixture
def checkpoint(tmp_path):
    path = tmp_path / "last.ckpt"
    torch.save({"global_step": 3, "state_dict": {"weight": torch.arange(5000.0)}}, path)
    return path


def test_no_flipped_byte_changes_what_is_read(checkpoint):
    """Padding between the parts may differ; what is read may not."""
    whole = checkpoint.read_bytes()
    accepted = 0
    for place in random.Random(0).sample(range(len(whole)), 150):
        flipped = bytearray(whole)
        flipped[place] ^= 1 << place % 8
        checkpoint.write_bytes(flipped)
        with contextlib.suppress(UserError):
            content = read_checkpoint(checkpoint)
            assert content["global_step"] == 3
            assert content["state_dict"]["weight"].equal(torch.arange(5000.0))
            accepted += 1
    assert accepted < 30


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04", b"no archive"])
def test_what_is_no_archive_is_refused(checkpoint, content):
    checkpoint.write_bytes(content)
    with pytest.raises(UserError) as refused:
        read_checkpoint(checkpoint)
    assert refused.value.kind == "damaged_file"


@pytest.mark.parametrize(
    "wrong",
    [
        {"global_step": "3"},
        {"global_step": -1},
        {"global_step": None},
        {"global_step": True},
        {"state_dict": []},
        {"state_dict": {"weight": 1.0}},
        {"state_dict": {3: torch.zeros(1)}},
    ],
    ids=str,
)
def test_a_step_and_weights_of_other_types_are_refused(checkpoint, wrong):
    torch.save({"global_step": 3, "state_dict": {}, **wrong}, checkpoint)
    with pytest.raises(UserError) as refused:
        read_checkpoint(checkpoint)
    assert refused.value.kind == "foreign_file"


PASS = {"accuracy": 0.5, "step": 2, "sha256": ""}


@pytest.mark.parametrize(
    ("read", "state"),
    [
        (read, state)
        for read in (saved_step_and_end, saved_batch_parts, saved_dev_passes, best_dev_pass)
        for state in ({}, {"callbacks": None}, {"callbacks": {}}, {"callbacks": {"ResumePoint": None}})
    ]
    + [
        (saved_batch_parts, {"callbacks": {"ResumePoint": {"batch_parts": "two"}}}),
        (saved_dev_passes, {"callbacks": {"ResumePoint": {"dev_passes": {"step": [2]}}}}),
        (saved_dev_passes, {"callbacks": {"ResumePoint": {"dev_passes": {"step": ["2"], "accuracy": [0.5]}}}}),
        (saved_dev_passes, {"callbacks": {"ResumePoint": {"dev_passes": {"step": [2], "accuracy": []}}}}),
        (best_dev_pass, {"callbacks": {"ResumePoint": {"best": {"accuracy": 0.5}}}}),
        (best_dev_pass, {"callbacks": {"ResumePoint": {"best": {**PASS, "accuracy": "high"}}}}),
        (best_dev_pass, {"callbacks": {"ResumePoint": {"best": [0.5, 2]}}}),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_a_state_of_other_types_is_refused(checkpoint, read, state):
    torch.save({"global_step": 3, "state_dict": {}, **state}, checkpoint)
    with pytest.raises(UserError, match="not what a run goes on from"):
        read(checkpoint.parent)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_what_lightning_cannot_restore_is_one_line(home, capsys):
    assert main([*COMMAND, "trainer.max_steps=2"]) == 0
    (path,) = home.rglob("last.ckpt")
    whole = path.read_bytes()
    for key, wrong in (
        *(("optimizer_states", wrong) for wrong in (None, [], [3], [{"state": {}, "param_groups": []}])),
        *(("lr_schedulers", wrong) for wrong in (None, [])),
        *(("loops", wrong) for wrong in (None, {}, {"fit_loop": 3})),
        ("pytorch-lightning_version", 3),
        ("state_dict", {}),
        ("callbacks", {}),
    ):
        checkpoint = torch.load(path, weights_only=True)
        checkpoint[key] = wrong
        torch.save(checkpoint, path)
        assert main(COMMAND) == 2, key
        (line,) = capsys.readouterr().err.splitlines()
        assert "not what a run goes on from" in line, key
        path.write_bytes(whole)
    random = torch.load(path, weights_only=True)
    random["callbacks"]["ResumePoint"]["random"][0]["numpy_key"] = torch.zeros(3)
    torch.save(random, path)
    assert main(COMMAND) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "not what a run goes on from" in line
    path.write_bytes(whole)
    assert main(COMMAND) == 0


class Planted:
    def __reduce__(self):
        return print, ("planted",)


def test_code_in_a_checkpoint_is_refused_without_advice_to_run_it(checkpoint, capsys):
    torch.save({"global_step": 3, "state_dict": {}, "planted": Planted()}, checkpoint)
    with pytest.raises(UserError, match="more than tensors and plain values, which is never loaded") as refused:
        read_checkpoint(checkpoint)
    assert "weights_only" not in str(refused.value)
    assert "planted" not in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize("left", ["", '{"tokens": "12'])
def test_half_a_note_of_the_data_does_not_stick_a_run(home, capsys, left):
    """As a kill left it before files were replaced whole."""
    assert main([*COMMAND, "trainer.max_steps=2"]) == 0
    (data,) = home.rglob("data.json")
    whole = data.read_text()
    data.write_text(left)
    assert main(COMMAND) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "data.json" in line
    assert "delete that file" in line
    data.unlink()
    assert main(COMMAND) == 0
    assert data.read_text() == whole


@pytest.mark.slow
def test_half_a_note_of_the_data_is_no_matter_where_nothing_was_trained(home):
    assert main([*COMMAND, "trainer.max_steps=2"]) == 0
    (data,) = home.rglob("data.json")
    data.write_text("")
    (data.parent / "last.ckpt").unlink()
    assert main([*COMMAND, "trainer.max_steps=2"]) == 0
    assert json.loads(data.read_text())


@pytest.mark.parametrize("left", ["", "3f0"])
def test_half_a_wandb_id_is_drawn_again_once(tmp_path, left):
    (tmp_path / "wandb_id").write_text(left)
    drawn = wandb_id(tmp_path)
    assert len(drawn) == 8
    assert wandb_id(tmp_path) == drawn


def test_a_foreign_wandb_id_is_refused(tmp_path):
    (tmp_path / "wandb_id").write_text("../../../tmp/x")
    with pytest.raises(UserError, match=r"wandb_id holds '\.\./\.\./\.\./tmp/x'.*delete it"):
        wandb_id(tmp_path)


def test_a_test_whose_record_was_not_written_leaves_one_row(tmp_path):
    path = tmp_path / "metrics.csv"
    first = CurveLogger(path, resume_step=0)
    first.log_metrics({"dev/accuracy": 0.5}, 20)
    first.log_metrics({"test/accuracy": 0.25}, 0)
    CurveLogger(path, resume_step=20).log_metrics({"test/accuracy": 0.25}, 0)
    assert read_curves(path) == [{"step": 20, "dev/accuracy": 0.5}, {"step": 0, "test/accuracy": 0.25}]


@pytest.mark.parametrize("text", ["step,dev/accuracy\nten,0.5\n", "a,b\n1,2\n", "step\n\0\n", "step,dev/loss\n1,2,3\n"])
def test_curves_that_are_none_are_refused(tmp_path, text):
    path = tmp_path / "metrics.csv"
    path.write_text(text)
    with pytest.raises(UserError, match="no table of curves"):
        read_curves(path)
