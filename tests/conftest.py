"""Shared fixtures: a home for data and runs of the tests' own, and one tiny prepared store."""

import gc
import io
import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from typing import Any

import pytest
import torch
from absl import logging as absl_logging
from lightning_utilities.core.rank_zero import rank_zero_only

from lra.base.files import replace_bytes
from lra.terminal.figure_file import Drawn
from lra.types import UserError
from tests.composing import parse_each_file_once

ROOT = Path(__file__).resolve().parents[1]
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")  # the tests speak of the CPU
os.environ.pop("LRA_CONF_PATH", None)  # and of no settings but ours
# absl, which TFDS logs with, closes a stream that is not the process's own when Hydra sets logging up anew: pytest's.
absl_logging.get_absl_handler().python_handler.stream = sys.__stderr__
os.environ.setdefault("OMP_NUM_THREADS", "1")  # one test process per core; torch has read it when it was imported,
torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))  # so this process is told by itself

LONGEST_SECONDS = 600  # a command of a test that takes longer is not a small one, or hangs

if not torch.cuda.is_available():  # torch keeps each seed for a GPU that may come, with the stack, in 2 ms
    torch.cuda.manual_seed_all = lambda seed: None  # type: ignore[assignment]
gc.set_threshold(100_000)  # composing makes many objects, and a collection looks at all of torch's: a tenth of the time
parse_each_file_once()

PIXEL = bytes.fromhex(  # a PNG
    "89504e470d0a1a0a0000000d4948445200000001000000010800000000"
    "3a7e9b550000000a49444154789c6360000000020001e221bc330000000049454e44ae426082"
)


STARTED = time.monotonic()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare `--minutes`, for a machine whose time is limited."""
    parser.addoption("--minutes", type=float, default=math.inf, help="skip tests that have not begun after these")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test for which `--minutes` has left no time; `-rs` counts them."""
    if time.monotonic() - STARTED > 60 * item.config.getoption("--minutes"):
        pytest.skip("the time of --minutes is over")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Of a test with the mark `some_fast(n)` all cases but n are slow, and with `some_in_ci(n)` exhaustive."""
    for mark, others in (("some_fast", pytest.mark.slow), ("some_in_ci", pytest.mark.exhaustive)):
        for cases in cases_of_each_test([item for item in items if item.get_closest_marker(mark)]):
            (count,) = cases[0].get_closest_marker(mark).args
            kept = {len(cases) * i // count for i in range(count)}
            for number in set(range(len(cases))) - kept:
                cases[number].add_marker(others)


def cases_of_each_test(items: Sequence[pytest.Item]) -> Collection[list[pytest.Item]]:
    """The cases of each test, in their order."""
    tests: dict[str, list[pytest.Item]] = {}
    for item in items:
        tests.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return tests.values()


class OneCaseFirst:
    """With `--minutes`, one case of every test comes before the others: no test is left out for another's cases.

    The workers begin at equal parts of the list, so each has first cases, then others.
    """

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Order what the marks have left."""
        workers = getattr(config, "workerinput", {}).get("workercount", 1)
        firsts = {cases[0] for cases in cases_of_each_test(items)}
        kinds = [[item for item in items if (item in firsts) is first] for first in (True, False)]
        items[:] = [
            item
            for worker in range(workers)
            for kind in kinds
            for item in kind[len(kind) * worker // workers : len(kind) * (worker + 1) // workers]
        ]


def pytest_configure(config: pytest.Config) -> None:
    """Order the tests where the time is limited."""
    if config.getoption("--minutes") < math.inf:
        config.pluginmanager.register(OneCaseFirst())


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory) -> Path:
    """A data folder with ListOps at size=tiny in it."""
    folder = tmp_path_factory.mktemp("data")
    done = lra_here("prepare", "task=listops", "size=tiny", data=folder, runs=folder)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(autouse=True)
def _seed() -> None:
    """Every test draws the same numbers and computes on one core, alone or among others."""
    torch.manual_seed(0)
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    torch.use_deterministic_algorithms(False)  # a run of an earlier test may have turned it on
    rank_zero_only.rank = 0  # Lightning's, which a test of several ranks may have set


def one_pixel(curves, path: Path, **how) -> Drawn:
    """Write an image of one pixel, in place of a figure."""
    replace_bytes(path, PIXEL)
    return Drawn(path, "")


@pytest.fixture
def home(data_dir, tmp_path, monkeypatch) -> Path:
    """This process, and what it starts, uses the prepared data and a fresh folder of runs, which it gives.

    Drawing its learning curve is a fifth of a tiny run: runs of this process get an image of one pixel.
    """
    monkeypatch.setattr("lra.verbs.train_record.learning_curve", one_pixel)
    monkeypatch.setenv("LRA_DATA_DIR", str(data_dir))
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    return tmp_path / "runs"


@pytest.fixture
def refused(monkeypatch, capsys) -> Callable[..., UserError]:
    """Type a command that must be refused in one line: gives the error, whose `kind`, `key` and `value` tell which."""
    from lra.cli import main
    from lra.terminal import errors

    explain, seen = errors.explain, []
    monkeypatch.setattr(errors, "explain", lambda error: seen.append(error) or explain(error))

    def type_in(*words: str) -> UserError:
        seen.clear()
        capsys.readouterr()
        assert main(words) == 2
        assert capsys.readouterr().err == f"lra: {explain(seen[-1])}\n"
        error = errors.users_error(seen[-1])
        assert error is not None
        return error

    return type_in


@pytest.fixture
def handed_back(monkeypatch) -> list[Any]:
    """What the commands of this process hand back, in their order, also those that fail; it is printed as ever."""
    from lra.terminal import result

    show, seen = result.show_result, []
    monkeypatch.setattr(result, "show_result", lambda made: seen.append(made) or show(made))
    return seen


@pytest.fixture
def result_of(handed_back) -> Callable[..., Any]:
    """Type a command that must succeed: gives what its verb hands back, which is printed as ever."""
    from lra import cli

    def type_in(*words: str) -> Any:
        handed_back.clear()
        assert cli.main(words) == 0
        (made,) = handed_back
        return made

    return type_in


@pytest.fixture
def not_deaf():
    """A shell's background jobs, and what they start, are deaf to Ctrl-C, and those of nohup to SIGHUP."""
    hearing = {signal.SIGINT: signal.default_int_handler, signal.SIGHUP: signal.SIG_DFL}
    before = {number: signal.signal(number, handler) for number, handler in hearing.items()}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


def outer_environment() -> dict[str, str]:
    """The environment for a process of its own, with this code, and without the W&B process of an earlier test."""
    environment = {name: value for name, value in os.environ.items() if name != "WANDB_SERVICE"}
    return {**environment, "PYTHONPATH": str(ROOT)}


def hear_ctrl_c() -> None:
    """For a child process: a shell that started the tests in the background has made them deaf to it."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def lra_here(*words: str, data: Path, runs: Path) -> subprocess.CompletedProcess[str]:
    """Run the command line in this process, seconds faster: for what does not hang on a process of its own."""
    from lra.cli import main

    out, err = io.StringIO(), io.StringIO()
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(out), redirect_stderr(err):
        patch.chdir(runs.parent)
        patch.setenv("LRA_DATA_DIR", str(data))
        patch.setenv("LRA_RUNS_DIR", str(runs))
        try:
            code = main(words)
        except SystemExit as end:  # Hydra's own flags
            code = int(end.code or 0)
    return subprocess.CompletedProcess(words, code, out.getvalue(), err.getvalue())


def lra(*words: str, data: Path, runs: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run the command line as a user would, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "lra", *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST_SECONDS,
        cwd=runs.parent,
        env={**outer_environment(), "LRA_DATA_DIR": str(data), "LRA_RUNS_DIR": str(runs), **env},
    )


def cells_of(line: str) -> list[str]:
    """The cells of a printed table's line that are not empty; two spaces are between columns."""
    return re.split(r" {2,}", line.strip())
