"""Commands that are printed as the next ones: they can be typed as they stand, and keep what was typed that matters."""

import shlex
import subprocess
from pathlib import Path

import pytest

from lra.base.printed_commands import shell_command, typed_arguments
from lra.cli import main
from lra.training.ranks import check_launch
from lra.training.wandb_server import sync_command
from lra.types import UserError
from lra.verbs.train_summary import verdict
from tests.tables.records import make_record

TINY = ("train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv", "model.num_layers=1")
PLACES = ["paths.runs='my runs'", "--config-dir", "my conf"]


def next_of(size: str, *typed: str) -> list[str]:
    """The words of the command that comes after a run of `size` that was typed so."""
    with typed_arguments(typed):
        (line,) = (line for line in verdict(make_record(size=size)).splitlines() if ": lra " in line)
    return shlex.split(line.partition(": ")[2])


def test_the_full_run_keeps_the_options_of_the_method_and_the_places():
    typed = ["train", "size=tiny", "attention.num_landmarks=32", "recipe.steps=4", "seed=3", *PLACES]
    full = ["lra", "train", "task=listops", "attention=nystrom"]
    assert next_of("tiny", *typed) == [*full, "attention.num_landmarks=32", *PLACES]
    assert next_of("tiny", *typed, "-m") == [*full, *PLACES], "several values may be typed"
    assert next_of("tiny", "train", "hydra.searchpath=[file://my conf]") == [*full, "hydra.searchpath=[file://my conf]"]
    assert next_of("tiny") == full


def test_the_comparison_keeps_the_places():
    words = next_of("short", "train", "size=short", "attention.num_landmarks=32", *PLACES)
    assert words[:4] == ["lra", "compare", "run", "task=listops"]
    assert words[-3:] == PLACES


def test_several_nodes_are_told_the_whole_command():
    typed = ["train", "trainer=ddp", "trainer.num_nodes=2", *PLACES]
    with typed_arguments(typed), pytest.raises(UserError) as refused:
        check_launch(2, 2)
    line = str(refused.value)
    assert line.count(shell_command("lra", *typed)) == 2


def test_the_shell_lists_the_folders_of_offline_runs_where_a_name_has_a_blank(tmp_path):
    folder = tmp_path / "a 'run'"
    runs = [folder / "wandb" / f"offline-run-{number}" for number in (1, 2)]
    for run in runs:
        run.mkdir(parents=True)
    command = sync_command(folder)
    assert command.startswith("wandb sync ")
    done = subprocess.run(f"printf '%s\\n' {command}", shell=True, capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["wandb", "sync", *map(str, runs)]


@pytest.mark.slow
def test_what_a_run_says_of_its_re_evaluation_can_be_typed(home, capsys):
    assert main([*TINY, "paths.runs='my runs'"]) == 0
    (line,) = (line for line in capsys.readouterr().out.splitlines() if line.startswith("re-evaluate"))
    assert next(Path("my runs").rglob("result.json"))
    name, *words = shlex.split(line.removeprefix("re-evaluate"))
    assert name == "lra"
    assert main(words) == 0
