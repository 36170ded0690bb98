"""A forked process is like a new interpreter to its program and to who waits for it, but what it needs is imported."""

import os
import signal
import sys
import time

import pytest

from lra.base.fork_server import ForkServer
from lra.base.processes import Child, stop
from tests.conftest import ROOT

IMPORTED_AT = time.monotonic()


def program() -> int:
    """What the forked processes of these tests call: it does what its first word says."""
    what, *more = sys.argv[1:]
    if what == "tell":
        print(os.environ.get("TOLD"), *more, "VANISHED" in os.environ, IMPORTED_AT)
        print("an error", file=sys.stderr)
    if what == "raise":
        raise ValueError("of the program")
    if what == "sleep":
        print("asleep", flush=True)
        time.sleep(60)
    if what == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "kill what forks":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(60)
    return int(more[-1]) if what == "end" else 0


@pytest.fixture
def server(monkeypatch, tmp_path):
    (tmp_path / "fails_at_import.py").write_text("raise OSError('a library is broken')")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{tmp_path}")
    with ForkServer("tests.base.test_fork_server:program", ["fails_at_import"]) as server:
        yield server


def run(server: ForkServer, *words: str, **env: str) -> tuple[int | None, list[str], str]:
    with Child(words, start=server.start, env=env, echo=False, keep_output=True) as child:
        return child.wait(60), child.output, child.error()


def test_it_has_words_environment_streams_and_exit_code_of_its_own(server, monkeypatch):
    monkeypatch.setenv("VANISHED", "1")
    code, (line,), error = run(server, "tell", "a b", "ü", TOLD="one")
    assert (code, error) == (0, "an error")
    *told, imported_at = line.split()
    assert told == ["one", "a", "b", "ü", "True"]
    monkeypatch.delenv("VANISHED")
    _, (line,), _ = run(server, "tell", TOLD="two")
    assert line.split() == ["two", "False", imported_at], "the module was imported once"
    assert run(server, "end", "3")[0] == 3


def test_another_version_is_imported_anew(server, monkeypatch):
    before = run(server, "tell")[1][0].split()[-1]
    monkeypatch.setattr(server, "_version_of", lambda: 2)
    assert run(server, "tell")[1][0].split()[-1] != before


def test_it_says_why_it_has_failed(server):
    code, _, error = run(server, "raise")
    assert (code, error) == (1, "ValueError: of the program")
    code, _, error = run(server, "die")
    assert (code, error) == (-signal.SIGKILL, "killed by SIGKILL: out of memory?")


def test_it_hears_signals_and_the_next_one_is_started(server):
    with Child(["sleep"], start=server.start, echo=False, keep_output=True) as child:
        while not child.output:
            assert child.wait(0.1) is None
        stop([child])
        assert child.code == -signal.SIGTERM
    assert run(server, "end", "0")[0] == 0


def test_where_what_forks_is_killed_so_is_the_child_and_the_next_is_forked_from_another(server):
    code, _, error = run(server, "kill what forks")
    assert (code, error) == (-signal.SIGKILL, "killed by SIGKILL: out of memory?")
    assert run(server, "end", "4")[0] == 4


@pytest.mark.parametrize("end", ["os._exit(1)", "os.kill(os.getpid(), 9)"])
def test_where_what_forks_dies_while_it_imports_so_has_the_child(end, tmp_path, monkeypatch):
    (tmp_path / "dies_at_import.py").write_text(f"import os, time; time.sleep(0.5); {end}")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:{tmp_path}")
    with ForkServer("tests.base.test_fork_server:program", ["dies_at_import"]) as server:
        assert run(server, "end", "0")[0] == -signal.SIGKILL
