"""Shell completion: verbs, the words after them, config groups, choices and settings."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lra.cli import VERBS, main


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
        ("lra sweep ", {"landmarks", "window"}),
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
