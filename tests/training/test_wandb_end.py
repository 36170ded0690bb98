"""How a run's end reaches W&B, and how the end of W&B's process reaches a run."""

import subprocess
import sys

import pytest

from lra.cli import main
from lra.runs.files import METRICS, RESULT
from lra.types import UserError
from tests.conftest import outer_environment
from tests.training.offline_run import offline_runs

TINY = ["train", "size=tiny", "recipe.steps=4", "recipe.eval_every=2", "callbacks.log_every_steps=1"]
WITHOUT = """
import os, signal, subprocess, sys
from lra.cli import main
from lra.training.loggers import CurvesInWandb

log_metrics = CurvesInWandb.log_metrics

def after_the_kill(self, metrics, step=None):
    children = subprocess.run(["pgrep", "-P", str(os.getpid()), "-f", "wandb-core"], capture_output=True, text=True)
    for child in children.stdout.split():
        os.kill(int(child), signal.SIGKILL)
        os.waitpid(int(child), 0)
    log_metrics(self, metrics, step)

CurvesInWandb.log_metrics = after_the_kill
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.slow
@pytest.mark.parametrize("fails", [True, False])
def test_a_run_that_fails_has_failed_in_wandb(home, monkeypatch, fails):
    if fails:

        def fit(*_: object, **__: object) -> bool:
            raise UserError("no")

        monkeypatch.setattr("lra.training.run.fit", fit)
    assert main(TINY) == (2 if fails else 0)
    (offline,) = offline_runs(home)
    assert [end.exit_code for end in offline.of_type("exit")] == [int(fails)]


@pytest.mark.slow
def test_a_run_goes_on_when_the_process_of_wandb_ends(home):
    command = [sys.executable, "-c", WITHOUT, *TINY]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, env=outer_environment())
    assert ran.returncode == 0, ran.stderr
    assert ran.stderr.count("W&B's process has ended") == 1, ran.stderr
    (record,) = home.rglob(RESULT)
    assert len(record.with_name(METRICS).read_text().splitlines()) > 4
