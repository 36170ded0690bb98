"""A child ends with its parent, whatever ends that; what it said is known; it ends in order, or is killed at last."""

import os
import signal
import subprocess
import sys
import time

import pytest

from lra.base.processes import Child, die_with_parent, peak_resident_bytes, stop, wait_any
from tests.conftest import outer_environment
from tests.disturbance import wait_for

SLEEP = "import time; time.sleep(60)"
PARENT = """
import sys, time
from lra.base.processes import Child
child = Child((sys.executable, "-c", "import time; time.sleep(60)"))
print(child._process.pid, flush=True)
time.sleep(60)
"""
DEAF = """
import signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", file=sys.stderr, flush=True)
time.sleep(60)
"""


def python(code, **settings):
    return Child((sys.executable, "-c", code), **settings)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # it may end between opening and reading
        return False


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_a_child_ends_with_its_parent(number):
    env = outer_environment()
    with subprocess.Popen([sys.executable, "-c", PARENT], stdout=subprocess.PIPE, env=env) as parent:
        assert parent.stdout is not None
        pid = int(parent.stdout.readline())
        assert is_alive(pid)
        parent.send_signal(number)
    wait_for(lambda: not is_alive(pid))


def test_a_child_whose_parent_has_ended_before_it_could_ask_ends_too():
    """The kernel tells nothing of a death that came before: with the parent's number wrong, it is as if it had died."""
    pid = os.fork()
    if pid == 0:
        die_with_parent(os.getppid() + 1)
        os._exit(0)
    assert os.WTERMSIG(os.waitpid(pid, 0)[1]) == signal.SIGKILL


def test_the_last_line_of_an_error_is_kept(capfd):
    say = "import sys; print('warning', file=sys.stderr); print('lra: this is wrong', file=sys.stderr); "
    for code, said in (
        (say + "print('noise', file=sys.stderr); sys.exit(3)", "this is wrong"),
        ("import sys; sys.exit('only this')", "only this"),
        ("import os; os._exit(4)", "exit code 4"),
        ("import os; os.kill(os.getpid(), 9)", "killed by SIGKILL: out of memory?"),
        ("import os; os.abort()", "killed by SIGABRT"),
        ("import os; os.write(2, b'what(): why\\n'); os.abort()", "killed by SIGABRT: what(): why"),
        ("import os; os.write(2, b'lra: this is wrong\\n'); os.abort()", "this is wrong"),
    ):
        with python(code) as child:
            assert child.wait() != 0
            assert child.error() == said
    assert "warning" in capfd.readouterr().err


def test_output_is_kept_and_errors_are_not_passed_on_when_asked(capfd):
    with python("import sys; print('a\\nb'); print('c', file=sys.stderr)", echo=False, keep_output=True) as child:
        assert child.wait() == 0
        assert child.output == ["a", "b"]
        assert child.error() == "c"
    assert capfd.readouterr() == ("", "")


def test_the_first_to_end_is_found_and_the_others_are_stopped():
    with python(SLEEP) as slow, python("import sys; sys.exit(5)") as quick:
        assert wait_any([slow, quick]) == (quick, 5)
    assert slow.code == -signal.SIGTERM


def test_one_that_does_not_listen_is_killed_in_the_end(capfd):
    with python(DEAF, patience_seconds=0.3) as child:
        wait_for(lambda: "deaf" in child._lines)
        begun = time.monotonic()
        stop([child])
        assert child.code == -signal.SIGKILL
        assert time.monotonic() - begun >= 0.3


def test_the_peak_of_memory_is_this_programs_own():
    """A child that is forked from a large process would begin with its memory."""
    words = "from lra.base.processes import peak_resident_bytes; print(peak_resident_bytes())"
    large = b"x" * (300 << 20)
    with Child((sys.executable, "-c", words), keep_output=True) as child:
        assert child.wait() == 0
    assert peak_resident_bytes() > len(large)
    assert 1 << 20 < int(child.output[0]) < 100 << 20


def test_the_lines_of_both_streams_are_heard_and_kept():
    out, err = [], []
    words = "import sys; print('one'); print('two'); print('lra: three', file=sys.stderr)"
    with Child((sys.executable, "-c", words), keep_output=True, hear_output=out.append, hear_error=err.append) as child:
        assert child.wait(60) == 0
    assert (out, err, child.output, child.error()) == (["one", "two"], ["lra: three"], ["one", "two"], "three")
