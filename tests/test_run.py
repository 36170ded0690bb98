"""One object for one run: what has become of it is read from its folder, at each use."""

import json

from lra.run import Run
from lra.settings.compose import load_config
from tests.tables.records import make_record


def begun(tmp_path) -> Run:
    run = Run(tmp_path / "runs/default/listops/nystrom/paper-full-5000steps-a1b9200f/seed2")
    run.folder.mkdir(parents=True)
    return run


def test_the_same_settings_and_seed_are_the_same_run():
    one, same, other = (Run.of(load_config("train", [f"seed={seed}"])) for seed in (0, 0, 1))
    assert one == same != other
    assert len({one, same, other}) == 2
    assert one.state == "not begun"


def test_its_state_is_that_of_its_folder_now(tmp_path):
    run = begun(tmp_path)
    states = [run.state]
    (run.folder / "metrics.csv").write_text("step,train/loss\n250,1.0\n")
    states.append(run.state)
    run.fail("out of memory")
    states.append(run.state)
    with run.lock():
        states.append(run.state)
    run.forget_failure()
    (run.folder / "result.json").write_text(json.dumps(make_record(accuracy=0.375)))
    states.append(run.state)
    assert states == [
        "begun, step 0 of 5,000",
        "begun, step 250 of 5,000",
        "failed at step 250 of 5,000: out of memory",
        "running, step 250 of 5,000",
        "finished, 37.50%",
    ]
    assert (run.finished, run.failure, run.record.test_accuracy) == (True, None, 0.375)


def test_it_is_printed_in_three_lines_with_its_folder_and_a_command(tmp_path):
    run = begun(tmp_path)
    what, folder, command = repr(run).splitlines()
    assert what.endswith("listops/nystrom, paper-full-5000steps-a1b9200f, seed 2: begun, step 0 of 5,000")
    assert folder.strip() == str(run.folder)
    assert command.strip() == "lra evaluate run=a1b9200f seed=2"


def test_a_copy_under_another_name_is_a_run_too(tmp_path):
    copy = Run(tmp_path / "copied")
    copy.folder.mkdir()
    assert copy.state == "begun, step 0"
    assert len(repr(copy).splitlines()) == 3


def test_a_run_in_its_pretraining_says_at_which_step_of_it(tmp_path):
    folder = tmp_path / "default/listops/full/paper-tiny-4steps-a1b9200f/seed0"
    (folder / "pretraining").mkdir(parents=True)
    (folder / "pretraining/metrics.csv").write_text("step,dev/loss\n10,2.0\n1200,1.5\n")
    run = Run(folder)
    assert run.state == "begun, step 1,200 of its pretraining"
    (folder / "metrics.csv").write_text("step,dev/loss\n2,2.0\n")
    assert run.state == "begun, step 2 of 4"
