"""lra train -m ends with a table of its runs, also when some have failed."""

import re

import pytest

from lra.base.overrides import Overrides
from lra.cli import main
from lra.settings.compose import load_config
from lra.settings.which_run import run_dir
from lra.verbs.train_sweep import jobs_elsewhere

TINY = ["train", "-m", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv", "trainer.threads=1"]


NAMES = [f"listops/nystrom (attention.value_skip_taps={taps})" for taps in (3, 4)]


@pytest.mark.slow
def test_a_sweep_ends_with_a_table_also_when_a_run_failed(home, handed_back):
    assert main([*TINY, "attention=nystrom", "seed=0,1", "attention.value_skip_taps=3,4"]) == 2
    *trained, ended = handed_back
    assert (len(trained), len(ended.jobs), ended.failed) == (2, 4, 2)
    rows = ended.table.rows
    assert [row[:2] for row in rows] == [[name, seed] for seed in "01" for name in NAMES]
    for job, row in zip(ended.jobs, rows, strict=True):
        if "taps=3" in row[0]:
            assert job.record in [each.record for each in trained]
            assert row[2] == f"{100 * job.record.test_accuracy:.2f}"
            assert all(re.fullmatch(r"\d+(\.\d\d)?", cell) for cell in row[2:5])
            assert job.error is None
        else:
            assert job.record is None
            assert row[2:5] == ["–"] * 3
            assert job.error.startswith("attention.value_skip_taps=4 ")
            assert row[-1].endswith(job.error)


@pytest.mark.slow
def test_one_run_has_no_table(home, result_of):
    words = [word for word in TINY if word != "-m"]
    assert result_of(*words, "attention=none").record.method == "none"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_runs_of_a_launcher_in_other_processes_have_the_table_too(home, handed_back):
    words = ["hydra/launcher=joblib", "attention=nystrom", "attention.value_skip_taps=3,4"]
    assert main([*TINY, *words]) == 2
    (ended,) = handed_back
    assert [row[0] for row in ended.table.rows] == NAMES
    assert [(job.record is not None, job.elsewhere) for job in ended.jobs] == [(True, True), (False, True)]
    assert len({row[-1] for row in ended.table.rows}) == 2, "it says which"


def test_an_added_option_with_several_values_is_one_of_each_run(home):
    words = [f"+recipe.optimizer.momentum={value}" for value in (0.1, 0.2)]
    run_dir(load_config("train", words[:1])).mkdir(parents=True)
    jobs = jobs_elsewhere(Overrides(["+recipe.optimizer.momentum=0.1,0.2"]))
    assert [job.overrides for job in jobs] == [(word,) for word in words]
