"""Signals in one process: at once while it starts, by an exception at work, once however often they come."""

import os
import signal
import subprocess
import sys
import time

import pytest

from lra.base.signals import Stopped, clean_up_on_signals, exit_on_signals, raise_if_stopped
from tests.conftest import ROOT

NUMBERS = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


pytestmark = pytest.mark.usefixtures("not_deaf")


def run(work):
    """Run `work` as a main function; returns its exit code and what was said."""
    said = []
    return exit_on_signals(said.append)(work)(), said


@pytest.mark.parametrize("number", NUMBERS)
def test_work_ends_by_an_exception_and_nothing_stays_changed(number):
    before, cleaned = [signal.getsignal(number) for number in NUMBERS], []

    def work():
        with clean_up_on_signals():
            try:
                os.kill(os.getpid(), number)
                time.sleep(10)
            finally:
                cleaned.append(True)
        return 0

    code, (line,) = run(work)
    assert code == 128 + number
    assert line == ("interrupted" if number == signal.SIGINT else f"stopped by {number.name}")
    assert cleaned == [True]
    assert [signal.getsignal(number) for number in NUMBERS] == before


@pytest.mark.slow
def test_one_during_an_import_waits_for_its_end(tmp_path, monkeypatch):
    """C++ code that imports, as torch's does, aborts the process at an exception."""
    (tmp_path / "slow_import.py").write_text(
        f"import os, time\nos.kill(os.getpid(), {signal.SIGTERM:d})\ntime.sleep(0.3)\nFINISHED = True\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    def work():
        with clean_up_on_signals():
            import slow_import

            assert slow_import.FINISHED
            time.sleep(10)
        return 0

    assert run(work) == (128 + signal.SIGTERM, ["stopped by SIGTERM"])
    assert sys.modules.pop("slow_import").FINISHED


def test_a_thread_that_is_not_the_main_one_can_run_a_command():
    """A notebook server or a scheduler may call from one; signals are then heard by what the main thread does."""
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(run, lambda: 7).result() == (7, [])


class Finalized:
    """Gets a signal while Python finalizes it, where an exception is dropped."""

    def __del__(self) -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(0.05)


def test_one_that_comes_in_a_finalizer_ends_the_work_later_and_prints_no_traceback():
    passed_on, before = [], sys.unraisablehook
    sys.unraisablehook = passed_on.append  # pytest's own is a warning

    class Faulty:
        def __del__(self) -> None:
            raise ValueError("another's fault is still shown")

    def work():
        with clean_up_on_signals():
            Faulty()
            Finalized()
            raise_if_stopped()
        return 0

    try:
        assert run(work) == (128 + signal.SIGTERM, ["stopped by SIGTERM"])
        assert [what.exc_type for what in passed_on] == [ValueError]
        passed_on.clear()
        assert sys.unraisablehook == passed_on.append
    finally:
        sys.unraisablehook = before


def test_a_second_one_does_not_disturb_the_orderly_end():
    cleaned = []

    def work():
        with clean_up_on_signals():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(10)
            finally:
                os.kill(os.getpid(), signal.SIGINT)
                time.sleep(0.05)
                cleaned.append(True)
        return 0

    assert run(work)[0] == 143
    assert cleaned == [True]


def test_a_stop_that_was_lost_is_found_again():
    def work():
        with clean_up_on_signals():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(10)
            except BaseException:
                pass
            raise_if_stopped()
        return 0

    assert run(work)[0] == 143


def test_what_is_ignored_stays_ignored(monkeypatch):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        assert run(lambda: os.kill(os.getpid(), signal.SIGHUP) or 7)[0] == 7
    finally:
        signal.signal(signal.SIGHUP, before)


@pytest.mark.parametrize("number", NUMBERS)
def test_while_it_starts_it_ends_at_once_with_a_line(number):
    code = (
        "import os, time\nfrom lra.base.signals import exit_on_signals\n"
        f"exit_on_signals(print)(lambda: (os.kill(os.getpid(), {int(number)}), time.sleep(10)))()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=False)
    assert done.returncode == 128 + number
    assert done.stderr == f"lra: {Stopped(number)}\n"


def test_the_line_says_what_is_kept():
    assert str(Stopped(signal.SIGINT, "step 5 is saved")) == "interrupted; step 5 is saved"
    assert str(Stopped(signal.SIGTERM, "step 5 is saved")) == "stopped by SIGTERM; step 5 is saved"
