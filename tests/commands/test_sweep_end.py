"""lra train -m ends with a table of its runs, also when some have failed."""

import re

import pytest

from lra.cli import main
from lra.settings.compose import load_config
from lra.settings.run_folder import run_dir
from lra.verbs.train_sweep import jobs_elsewhere
from tests.conftest import cells_of

TINY = ["train", "-m", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv", "trainer.threads=1"]


def rows(text: str) -> list[list[str]]:
    table = text[text.rindex(" runs, ") :]
    return [cells_of(line) for line in table.splitlines() if line.startswith("listops/")]


@pytest.mark.slow
def test_a_sweep_ends_with_a_table_also_when_a_run_failed(home, capsys):
    capsys.readouterr()
    assert main([*TINY, "attention=nystrom", "seed=0,1", "attention.value_skip_taps=3,4"]) == 2
    text = capsys.readouterr().out
    assert "4 runs, 2 failed" in text
    found = rows(text)
    assert [row[:2] for row in found] == [
        [f"listops/nystrom (attention.value_skip_taps={taps})", seed] for seed in "01" for taps in (3, 4)
    ]
    for row in found:
        if "taps=3" in row[0]:
            assert row[-1] == "finished"
            assert all(re.fullmatch(r"\d+(\.\d\d)?", cell) for cell in row[2:5])
        else:
            assert row[2:5] == ["–"] * 3
            assert row[-1].startswith("failed: attention.value_skip_taps=4 is not odd")


@pytest.mark.slow
def test_one_run_has_no_table(home, capsys):
    words = [word for word in TINY if word != "-m"]
    assert main([*words, "attention=none"]) == 0
    assert " runs, " not in capsys.readouterr().out


@pytest.mark.slow
def test_runs_of_a_launcher_in_other_processes_have_the_table_too(home, capfd):
    words = ["hydra/launcher=joblib", "attention=nystrom", "attention.value_skip_taps=3,4"]
    assert main([*TINY, *words]) == 2
    found = rows(capfd.readouterr().out)
    assert [row[0] for row in found] == [f"listops/nystrom (attention.value_skip_taps={taps})" for taps in (3, 4)]
    assert [row[-1] for row in found] == ["finished", "failed, or stopped before its end"]


def test_an_added_option_with_several_values_is_one_of_each_run(home):
    words = [f"+recipe.optimizer.momentum={value}" for value in (0.1, 0.2)]
    run_dir(load_config("train", words[:1])).mkdir(parents=True)
    jobs = jobs_elsewhere(["+recipe.optimizer.momentum=0.1,0.2"])
    assert [job.overrides for job in jobs] == [[word] for word in words]
