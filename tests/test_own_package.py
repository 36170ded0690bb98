"""The example package, copied out of the repository: its commands, as its README and the pages in docs show them."""

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from lra.cli import main
from tests.commands.documented import OWN_PACKAGE, documented_commands
from tests.conftest import ROOT

EXAMPLE = ROOT / "docs" / "examples" / "own_package"
README = re.findall(r"^lra .*?(?=  |$)", (EXAMPLE / "README.md").read_text(), re.MULTILINE)
QUOTED = [command for command in documented_commands() if OWN_PACKAGE.search(command)]
COMMANDS = list(dict.fromkeys([*README, *QUOTED]))
SAID = {"check": "kept", "evaluate": "thesameasrecorded", "doctor": "own_package/conf:3filesof"}
FAST = "logger=csv trainer.threads=1"


@pytest.fixture(scope="module")
def outside(tmp_path_factory) -> Path:
    """A folder with a copy of the package in it; the commands share its data and runs."""
    folder = tmp_path_factory.mktemp("outside")
    shutil.copytree(EXAMPLE, folder / "own", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(EXAMPLE / "own_package" / "data" / "majority.csv", folder / "my.csv")
    return folder


def typed(command: str, outside: Path) -> list[str]:
    """The words of a command; the run that it names is the one that is there."""
    words = command.split()[1:]
    if words[0] == "evaluate":
        (run,) = (outside / "runs" / "default" / "majority" / "window").glob("*/seed0")
        words[1] = f"run={run}"
    if words[0] == "prepare":
        words.append("force=true")
    return words


def test_the_documents_show_commands():
    verbs = {command.split()[1] for command in COMMANDS}
    assert verbs == {"doctor", "check", "show", "train", "evaluate", "compare", "prepare"}


def marked(command: str) -> object:
    """Two runs in processes of their own, and a check without the twin, are not among the fast tests."""
    slow = command.startswith("lra compare") or command == "lra check attention=window"
    return pytest.param(command, marks=pytest.mark.slow if slow else ())


@pytest.fixture
def by_path(outside, monkeypatch):
    """The package is found through variables alone."""
    monkeypatch.chdir(outside)
    monkeypatch.syspath_prepend(outside / "own")
    for name, place in (("PYTHONPATH", "own"), ("LRA_DATA_DIR", "data"), ("LRA_RUNS_DIR", "runs")):
        monkeypatch.setenv(name, str(outside / place))
    monkeypatch.setenv("LRA_CONF_PATH", str(outside / "own" / "own_package" / "conf"))
    return outside


@pytest.fixture
def trained(by_path):
    """There is a run of the attention, whichever test comes first."""
    if not (by_path / "runs" / "default" / "majority" / "window").exists():
        assert main(next(word for word in COMMANDS if word.startswith("lra train")).split()[1:]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("command", [marked(command) for command in COMMANDS], ids=str)
def test_a_shown_command_works_by_path(by_path, capsys, request, command):
    if command.startswith("lra evaluate"):
        request.getfixturevalue("trained")
    words = typed(command, by_path)
    code = main([*words, "finished=show"] if words[0] == "train" else words)
    out, err = capsys.readouterr()
    assert code == 0, err
    assert "lra: " not in err
    if words[0] in SAID:
        assert SAID[words[0]] in "".join(out.split())
    if words[0] == "train":
        assert f"The full run: lra train {words[1]} {words[2]}" in " ".join(out.split())
    assert "broken" not in out


@pytest.mark.slow
def test_a_report_of_runs_whose_package_is_gone_has_no_examples_of_its_task(trained, monkeypatch, capsys):
    monkeypatch.delenv("LRA_CONF_PATH")
    assert main(["report", "run_group=default", "out=page.html"]) == 0
    assert "page.html" in capsys.readouterr().out
    assert "window" in Path("page.html").read_text()


@pytest.mark.slow
@pytest.mark.exhaustive
def test_it_works_when_it_is_installed(outside, tmp_path):
    environment = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python, lra = environment / "bin" / "python", [environment / "bin" / "python", "-m", "lra"]
    (site,) = environment.glob("lib/python*/site-packages")
    places = [str(ROOT), sysconfig.get_paths()["purelib"], *(path for path in sys.path if "site-packages" in path)]
    (site / "dependencies.pth").write_text("\n".join(dict.fromkeys(places)))  # lra, torch and the rest
    env = {**os.environ, "LRA_DATA_DIR": str(tmp_path / "data"), "LRA_RUNS_DIR": str(tmp_path / "runs")}
    for name in ("PYTHONPATH", "LRA_CONF_PATH"):
        env.pop(name, None)
    install = [python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*install, str(outside / "own")], check=True, env=env)
    for words in (
        ["check", "attention=window", "twin=own_package.window.window_twin"],
        ["check", "mixer=averaging"],
        ["train", "task=majority", "attention=window", "size=tiny", "recipe.steps=4", *FAST.split()],
        ["train", "task=majority", "mixer=averaging", "size=tiny", "recipe.steps=4", *FAST.split()],
    ):
        done = subprocess.run([*lra, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
    (run,) = (tmp_path / "runs" / "default" / "majority" / "window").glob("*/seed0")
    words = ["evaluate", f"run={run}"]
    done = subprocess.run([*lra, *words], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "the same as recorded" in done.stdout
