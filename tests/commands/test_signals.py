"""Each signal at each moment: its exit code, nothing left behind, and a run that goes on to the same result."""

import json
import os
import pty
import select
import shutil
import signal
import sys
import time

import pytest

from tests.conftest import ROOT, lra
from tests.disturbance import disturbed, locked, steps, wait_for

CODES = {signal.SIGINT: 130, signal.SIGTERM: 143, signal.SIGHUP: 129}
LINES = {signal.SIGINT: "interrupted", signal.SIGTERM: "stopped by SIGTERM", signal.SIGHUP: "stopped by SIGHUP"}
SETTINGS = (
    "size=tiny", "recipe.steps=24", "recipe.eval_every=8", "callbacks.log_every_steps=1",
    "callbacks.checkpoint_every_seconds=0", "logger=csv",
)  # fmt: skip
TRAIN = ("train", *SETTINGS)
TOGETHER = (*TRAIN, "trainer=ddp")
TABLE = ("table", "run", *SETTINGS, "task=listops", "attention=nystrom", "seed=0,1", "workers=2")
WORDS = {"training": TRAIN, "ddp": TOGETHER, "table": TABLE, "joblib": (*TABLE, "hydra/launcher=joblib")}
MOMENTS = {  # from the folder of runs, and the step from which they go on, to whether the moment has come
    "training": lambda runs, before=0: max(steps(runs), default=0) > before + 1,
    "ddp": lambda runs, before=0: max(steps(runs), default=0) > before + 1,
    "table": lambda runs, before=0: max(steps(runs), default=0) > before + 1,
}
SIGNALS = pytest.mark.parametrize("number", CODES, ids=lambda number: number.name)


def outcomes(runs):
    return {
        path.parent.relative_to(runs): json.loads(path.read_text())["outcome"] for path in runs.rglob("result.json")
    }


@pytest.fixture(scope="session")
def undisturbed(data_dir, tmp_path_factory):
    """From the words of a command to the outcomes of its runs when nothing disturbs it; each is run once."""
    found = {}

    def get(words):
        if words not in found:
            runs = tmp_path_factory.mktemp("whole") / "runs"
            done = lra(*words, data=data_dir, runs=runs)
            assert done.returncode == 0, done.stderr
            found[words] = outcomes(runs)
        return found[words]

    return get


def nothing_is_left(command):
    wait_for(lambda: not command.left() and not locked(command.runs), 60)


def check_the_end(command, number, code):
    assert code in (CODES[number], -number), command.error()  # a second one may end it: shells give the same code
    assert LINES[number] in command.error()
    for word in ("Traceback", "not foreseen"):
        assert word not in command.error(), command.error()
    nothing_is_left(command)


def goes_on(words, data_dir, runs, undisturbed):
    done = lra(*words, data=data_dir, runs=runs, OMP_NUM_THREADS="1")
    assert done.returncode == 0, done.stderr
    assert outcomes(runs) == undisturbed(words)


def disturb(words, moment, number, data_dir, runs):
    with disturbed(*words, data=data_dir, runs=runs) as command:
        command.until(lambda: moment(runs))
        begun = time.monotonic()
        code = command.end(number)
        print(f"ended {time.monotonic() - begun:.1f} s after {number.name}: {command.error().strip()}")
        check_the_end(command, number, code)
        return command.error()


@pytest.mark.slow
def test_sigterm_in_training_keeps_the_step_and_goes_on(data_dir, tmp_path, undisturbed):
    said = disturb(TRAIN, MOMENTS["training"], signal.SIGTERM, data_dir, tmp_path / "runs")
    assert "of 24 is saved in" in said
    goes_on(TRAIN, data_dir, tmp_path / "runs", undisturbed)


@pytest.mark.slow
@pytest.mark.some_in_ci(1)
@pytest.mark.parametrize("where", MOMENTS)
@pytest.mark.exhaustive
def test_one_signal_after_the_other_and_the_result_is_the_undisturbed_runs(where, data_dir, tmp_path, undisturbed):
    runs = tmp_path / "runs"
    for number in CODES:
        before = max(steps(runs), default=0)
        said = disturb(WORDS[where], lambda runs, before=before: MOMENTS[where](runs, before), number, data_dir, runs)
        assert {"table": "of 2 cells are finished"}.get(where, "of 24 is saved in") in said
    goes_on(WORDS[where], data_dir, runs, undisturbed)


@pytest.mark.slow
@pytest.mark.exhaustive
def test_signals_in_the_test_of_a_run(data_dir, tmp_path, undisturbed):
    """Each begins the test anew, which is of the same weights."""
    runs, begun = tmp_path / "runs", tmp_path / "begun"
    program = (
        "import sys, time\n"
        "from pathlib import Path\n"
        "from lra.cli import main\n"
        "from lra.training.module import ClassifierModule\n"
        "def wait(module, batch, number):\n"
        "    if number == 3:\n"
        f"        Path({str(begun)!r}).touch()\n"
        "        time.sleep(60)\n"
        "ClassifierModule.on_test_batch_start = wait\n"
        "sys.exit(main())\n"
    )
    words = (*TRAIN, "recipe.batch_size=1")  # 64 batches of the test
    for number in CODES:
        with disturbed(*words, data=data_dir, runs=runs, program=("-c", program)) as command:
            command.until(begun.exists)
            begun.unlink()
            code = command.end(number)
            check_the_end(command, number, code)
            assert "step 24 of 24 is saved in" in command.error()
        assert not outcomes(runs)
        assert steps(runs, "test/accuracy") == [0]
    goes_on(words, data_dir, runs, undisturbed)


@pytest.mark.parametrize("seconds", [pytest.param(s, marks=[pytest.mark.slow] * (s != 0.3)) for s in (0.15, 0.3, 1, 3)])
@SIGNALS
def test_a_signal_at_start_up(seconds, number, data_dir, tmp_path):
    """Before the command listens, the signal itself ends it; shells give both the same code."""
    with disturbed(*TRAIN, data=data_dir, runs=tmp_path / "runs") as command:
        time.sleep(seconds)
        code = command.end(number)
        if "KeyboardInterrupt" in command.error() and f"{ROOT}/lra/" not in command.error():
            return  # on a slow machine Python itself is still starting
        if code == -number:
            assert command.error() == ""
            nothing_is_left(command)
        else:
            check_the_end(command, number, code)


@pytest.mark.slow
@pytest.mark.parametrize("number", CODES)
def test_a_signal_in_prepare_leaves_nothing_half_done(number, tmp_path):
    words = ("prepare", "task=pathfinder", "size=tiny", "task.sizes.tiny.images=5000")
    data = tmp_path / "data"
    with disturbed(*words, data=data, runs=tmp_path / "runs") as command:
        command.until(lambda: bool(list(data.rglob("*incomplete*"))))
        time.sleep(0.5)
        check_the_end(command, number, command.end(number))
    assert not list(data.rglob("*incomplete*"))
    assert not list(data.rglob("manifest.json"))
    shutil.rmtree(tmp_path / "runs")


@pytest.mark.slow
def test_twice_is_once(data_dir, tmp_path):
    with disturbed(*TRAIN, data=data_dir, runs=tmp_path / "runs") as command:
        command.until(lambda: MOMENTS["training"](command.runs))
        command.process.send_signal(signal.SIGINT)
        time.sleep(0.1)
        if command.process.poll() is None:
            command.process.send_signal(signal.SIGINT)
        check_the_end(command, signal.SIGINT, command.process.wait(60))


@pytest.mark.slow
@pytest.mark.exhaustive
def test_what_nohup_has_made_deaf_stays_deaf(data_dir, tmp_path):
    """A hang-up that is ignored when the command starts is ignored to its end."""
    with disturbed(*TRAIN, data=data_dir, runs=tmp_path / "runs", deaf_to=signal.SIGHUP) as command:
        command.until(lambda: MOMENTS["training"](command.runs))
        command.process.send_signal(signal.SIGHUP)
        assert command.process.wait(120) == 0


@pytest.mark.slow
@pytest.mark.some_in_ci(4)
@pytest.mark.parametrize("moment", range(5))
@pytest.mark.parametrize("where", ["ddp", "table"])
def test_a_killed_launcher_takes_everything_with_it(where, moment, data_dir, tmp_path):
    """While it is alone, as each of its processes begins, and when they train."""
    runs = tmp_path / "runs"
    with disturbed(*WORDS[where], data=data_dir, runs=runs) as command:
        if moment == 4:
            command.until(lambda: max(steps(runs), default=0) >= 1)
        elif moment:
            command.until(lambda: len(command.left()) >= min(moment + 1, 3 if where == "ddp" else 5))
        time.sleep({0: 0.3, 3: 1.0}.get(moment, 0))
        print("processes at the kill:", len(command.left()), "steps:", steps(runs))
        command.end(signal.SIGKILL)
        begun = time.monotonic()
        nothing_is_left(command)
        print(f"nothing left after {time.monotonic() - begun:.2f} s")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
@pytest.mark.exhaustive
def test_workers_of_joblib_end_with_the_process_that_has_started_them(number, data_dir, tmp_path):
    runs = tmp_path / "runs"
    with disturbed(*WORDS["joblib"], data=data_dir, runs=runs) as command:
        command.until(lambda: max(steps(runs), default=0) >= 1)
        command.end(number)
        nothing_is_left(command)


@pytest.mark.slow
def test_a_killed_run_leaves_no_process_of_wandb(data_dir, tmp_path):
    runs = tmp_path / "runs"
    with disturbed(*TRAIN[:-1], data=data_dir, runs=runs) as command:
        command.until(lambda: max(steps(runs), default=0) >= 1)
        command.end(signal.SIGKILL)
        nothing_is_left(command)


def in_terminal(where, data_dir, tmp_path, monkeypatch) -> tuple[int, int, bytes]:
    """Start a command in a terminal of its own, and wait for its moment; its process, its terminal, what it printed."""
    runs = tmp_path / "runs"
    monkeypatch.setenv("LRA_DATA_DIR", str(data_dir))
    monkeypatch.setenv("LRA_RUNS_DIR", str(runs))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("TERM", "xterm")
    pid, terminal = pty.fork()
    if pid == 0:
        for number in (signal.SIGHUP, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        os.chdir(tmp_path)
        os.execv(sys.executable, [sys.executable, "-m", "lra", *WORDS[where]])
    printed, end = b"", time.monotonic() + 120
    while not MOMENTS[where](runs):
        assert time.monotonic() < end, "waited in vain"
        if select.select([terminal], [], [], 0.05)[0]:
            printed += os.read(terminal, 4096)
    return pid, terminal, printed


@pytest.mark.slow
@pytest.mark.parametrize("where", ["training", "table"])
def test_a_terminal_that_hangs_up_ends_the_run_in_order(where, data_dir, tmp_path, monkeypatch):
    """What would be written to it then is an error; the run's end must not stumble over it."""
    pid, terminal, _ = in_terminal(where, data_dir, tmp_path, monkeypatch)
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 129
    wait_for(lambda: locked(tmp_path / "runs") == [])


@pytest.mark.slow
@pytest.mark.exhaustive
def test_ctrl_c_in_a_terminal_ends_a_table_below_its_live_lines(data_dir, tmp_path, monkeypatch):
    """The terminal sends it to all processes of the command; the cursor, which a live table hides, is back."""
    pid, terminal, printed = in_terminal("table", data_dir, tmp_path, monkeypatch)
    os.write(terminal, b"\x03")
    while chunk := read_to_the_end(terminal):
        printed += chunk
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 130
    assert b"at work" in printed
    assert printed.rindex(b"\x1b[?25h") > printed.rindex(b"\x1b[?25l")
    last = printed[printed.rindex(b"\x1b[?25h") :].decode()
    assert "of 2 cells are finished" in last
    assert "Traceback" not in printed.decode()
    wait_for(lambda: locked(tmp_path / "runs") == [])


def read_to_the_end(terminal: int) -> bytes:
    """Read what a terminal has got; nothing after the last process has left it, which Linux reports as an error."""
    try:
        return os.read(terminal, 4096)
    except OSError:
        return b""
