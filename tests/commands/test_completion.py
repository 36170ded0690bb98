"""Shell completion: verbs, the words after them, config groups, choices and settings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lra.cli import VERBS, main
from lra.runs.groups import published_names


@pytest.mark.slow
@pytest.mark.parametrize(
    "line, words",
    [
        ("lra ", set(VERBS)),
        ("lra tr", {"train"}),
        ("lra train attention=n", {"attention=none", "attention=nystrom"}),
        ("lra train size=tiny recipe.opt", {"recipe.optimizer."}),
        ("lra train attention.ab", set()),
        ("lra train ~recipe.sch", set()),
        ("lra train ~log", set()),
        ("lra train +trainer.gradient_", {"+trainer.gradient_clip_val=", "+trainer.gradient_clip_algorithm="}),
        ("lra train --config-dir mine attention=o", {"attention=own"}),
        ("lra train -cd mine size=tiny attention=o", {"attention=own"}),
        ("lra table p", {"plan"}),
        ("lra table run recipe.st", {"recipe.steps="}),
        ("lra sweep ", {"landmarks", "window", "capacity"}),
        ("lra tune s", {"show"}),
        ("lra tune run recipe.st", {"recipe.steps="}),
        ("lra show model mixer=s", {"mixer=s4d"}),
        ("lra nonsense a", set()),
        ("lra compare run attention=full,nys", {"attention=full,nystrom"}),
        ("lra compare run attention=nystrom,ny", set()),
        ("lra train -m task=text,pathx,path", {"task=text,pathx,pathfinder"}),
        ("lra table run attention=full,nystrom recipe.st", {"recipe.steps="}),
    ],
)
def test_what_a_shell_is_answered(line, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine/attention").mkdir(parents=True)
    (tmp_path / "mine/attention/own.yaml").write_text("defaults: [full]\nname: own\n")
    monkeypatch.setenv("COMP_LINE", line)
    assert main(["-sc", "query=bash"]) == 0
    assert set(capsys.readouterr().out.split()) == words


RUNS = {  # the group, task and method of each run, and the hash of its settings
    "table/listops/nystrom": "1d7d3fc6",
    "table/text/full": "1dffffff",
    "mine/listops/full": "abcdabcd",
    "other/listops/full": "abcdabcd",
}


def make_runs(folder: Path) -> None:
    for place, settings in RUNS.items():
        run = f"{place}/paper-full-5000steps-{settings}"
        for seed in range(2):
            (folder / run / f"seed{seed}").mkdir(parents=True)
            (folder / run / f"seed{seed}/result.json").write_text("{}")
    (folder / "own.jsonl").write_text("{}")


SHIPPED = set(published_names())


@pytest.mark.some_fast(3)
@pytest.mark.parametrize(
    "line, words",
    [
        ("lra evaluate run=", {"run=1d7d3fc6", "run=1dffffff", "run=mine/abcdabcd", "run=other/abcdabcd"}),
        ("lra evaluate run=1d7", {"run=1d7d3fc6"}),
        ("lra diagnose run=table/1d", {"run=table/1d7d3fc6", "run=table/1dffffff"}),
        ("lra export size=tiny run=o", {"run=other/abcdabcd"}),
        ("lra evaluate run=zz", set()),
        ("lra train run=", set()),
        ("lra table run run_group=", {"run_group=table", "run_group=mine", "run_group=other"}),
        ("lra train run_group=m", {"run_group=mine"}),
        ("lra table show run_group=t", {"run_group=table"}),
        ("lra show runs run_group=o", {"run_group=other", "run_group=own.jsonl"}),
        ("lra report run_group=published/", {f"run_group={name}" for name in SHIPPED}),
        ("lra report paths.runs=elsewhere run_group=", {"run_group=fifth", *(f"run_group={name}" for name in SHIPPED)}),
    ],
)
def test_runs_and_groups_are_those_that_are_there(line, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))
    make_runs(tmp_path / "runs")
    (tmp_path / "elsewhere/fifth/a").mkdir(parents=True)
    (tmp_path / "elsewhere/fifth/a/result.json").write_text("{}")
    monkeypatch.setenv("COMP_LINE", line)
    assert main(["-sc", "query=bash"]) == 0
    assert set(capsys.readouterr().out.split()) == words


@pytest.mark.slow
def test_bash_completes_the_hash_of_a_run(tmp_path):
    make_runs(tmp_path / "runs")
    script = 'eval "$(lra -sc install=bash)"; COMP_LINE="lra evaluate run=1d7"; COMP_CWORD=2; hydra_bash_completion; '
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f'{script} echo "${{COMPREPLY[@]}}"'],
        env=os.environ | {"PATH": path, "LRA_RUNS_DIR": str(tmp_path / "runs")},
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.strip() == "run=1d7d3fc6"


@pytest.mark.slow
def test_bash_completes(tmp_path):
    """The very line of the documents, in a bash of its own."""
    script = 'eval "$(lra -sc install=bash)"; COMP_LINE="lra train mixer=g"; COMP_CWORD=2; hydra_bash_completion; '
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-c", f'{script} echo "${{COMPREPLY[@]}}"'],
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.strip() == "mixer=gated"
