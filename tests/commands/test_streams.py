"""Closed pipes, letters that a terminal lacks, narrow terminals, brackets in texts, Ctrl-C while starting."""

import os
import pty
import re
import signal
import subprocess
import sys

import pytest
from rich.console import Console

from lra.cli import main
from lra.tables.notes_on_runs import MARKS
from lra.terminal import console
from lra.terminal.console import make_console
from lra.terminal.errors import explain
from lra.terminal.fit_table import print_text_table
from lra.terminal.text_table import TextTable
from lra.training.module import NonFiniteLossError
from lra.types import UserError
from tests.conftest import outer_environment

LRA = f"{sys.executable} -m lra"


def shell(command: str, cwd, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"],
        capture_output=True,
        encoding=env.get("PYTHONIOENCODING", "utf-8"),
        check=False,
        cwd=cwd,
        env={**outer_environment(), **env},
    )


@pytest.mark.slow
def test_a_closed_pipe_does_not_end_a_training(home):
    words = "train size=tiny recipe.steps=4 recipe.eval_every=2 logger=csv"
    done = shell(f"{LRA} {words} | true", home.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert list(home.rglob("result.json"))


@pytest.mark.slow
@pytest.mark.parametrize("words", ["--help", "table --help", "show protocol", "2>&1 trian"])
def test_a_closed_pipe_shows_no_traceback(home, words):
    done = shell(f"{LRA} {words} | true", home.parent)
    assert done.returncode == (2 if "trian" in words else 0)
    assert done.stderr == ""


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["latin-1", "ascii"])
def test_letters_that_a_terminal_lacks_are_replaced(home, encoding):
    for words, code in (("--help", 0), ("show protocol", 0), ("train task=ListΩps", 2), ("doctor", 0)):
        done = shell(f"{LRA} {words}", home.parent, PYTHONIOENCODING=encoding)
        assert done.returncode == code, done.stderr
        assert "Error" not in done.stderr
        assert done.stdout or done.stderr


def test_marks_stay_different_where_a_terminal_lacks_them():
    """A reader must be able to tell where a number is from."""
    printed = {mark: mark.encode("ascii", "lra.in_ascii").decode() for mark in MARKS.values() if mark}
    assert len({*printed.values()}) == len(printed)
    assert not {"?", "\\"} & {*"".join(printed.values())}
    assert "37.15 ± 0.20 (3)‡ Müller 中".encode("ascii", "lra.in_ascii") == b"37.15 +- 0.20 (3)# Muller \\u4e2d"
    assert "±†".encode("latin-1", "lra.in_ascii") == b"\xb1*"


@pytest.mark.slow
def test_a_closed_output_is_no_trouble(home):
    assert shell(f"{LRA} show protocol >&-", home.parent).returncode == 0


TABLE = TextTable(
    title="listops [/x], protocol paper", columns=("attention", "test accuracy"), rows=[["nystrom[/red]", "37.15 %"]]
)


@pytest.mark.parametrize("columns", [8, 20, 40, 80])
def test_a_narrow_terminal_shows_every_word(columns, capsys):
    console = Console(force_terminal=True, width=columns, soft_wrap=True, markup=False, color_system=None)
    print_text_table(console, TABLE)
    out = capsys.readouterr().out
    for word in ("nystrom[/red]", "37.15 %", "test", "accuracy"):
        assert word in out


def test_texts_are_no_markup(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    console = make_console()
    console.print("run [/foo] of [red]x")
    print_text_table(console, TABLE)
    out = capsys.readouterr().out
    assert "run [/foo] of [red]x" in out
    assert "nystrom[/red]" in out


def test_an_error_shows_brackets_and_control_characters_in_one_line(capsys):
    assert main(["[/foo]\n\x1b[31m"]) == 2
    err = capsys.readouterr().err
    assert err.startswith("lra: '[/foo]")
    assert "\x1b" not in err
    assert len(err.splitlines()) == 1


def test_the_line_of_a_loss_that_is_no_number_is_its_own():
    assert explain(NonFiniteLossError("the loss is nan at step 3")) == "the loss is nan at step 3"


INTERRUPTED = """
import importlib.abc, os, signal, sys

signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs are deaf to it

names = sys.argv.pop(1).split(",")

class Interrupts(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name in names:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
from lra.__main__ import main
sys.argv[0] = "lra"
sys.exit(main())
"""


@pytest.mark.slow
@pytest.mark.some_in_ci(4)
@pytest.mark.parametrize(
    "modules",
    ["lra.cli", "lra.verbs.train", "hydra", "lra.terminal.errors", "omegaconf", "lra.from_config", "torch", "rich.text",
     "hydra,rich.console", "lra.base.paths,rich,rich.text"],
)  # fmt: skip
def test_ctrl_c_while_starting_shows_no_traceback(home, modules):
    """The signal comes when a module is about to be imported, once or twice; shells give its end by it the code 130."""
    done = subprocess.run(
        [sys.executable, "-c", INTERRUPTED, modules, "train", "size=tiny", "logger=csv"],
        capture_output=True,
        text=True,
        check=False,
        cwd=home.parent,
        env=outer_environment(),
    )
    assert done.returncode in (130, -signal.SIGINT), done.stderr
    assert "Traceback" not in done.stderr
    assert re.fullmatch(r"(lra: interrupted(; .*)?\n)?", done.stderr)  # after an import the run may have begun


def test_a_terminal_that_has_hung_up_is_no_trouble():
    """Writing to it is an error; a broken disk under a file of output stays one."""
    ours, theirs = pty.openpty()
    stream = console._PipeProof(theirs, "w", closefd=False)
    assert stream.write(b"heard\n") == 6
    os.close(ours)
    assert stream.write(b"not heard\n") == 10
    assert os.fstat(theirs).st_rdev == os.stat(os.devnull).st_rdev
    with pytest.raises(UserError, match="No space"):
        console._PipeProof("/dev/full", "w").write(b"x")
    os.close(theirs)
