"""A run is found by its folder, or by the hash of its settings and its seed."""

import pytest

from lra.cli import main
from lra.run import Run
from lra.runs.files import CONFIG, run_folder
from lra.types import UserError


@pytest.fixture
def runs(tmp_path):
    return tmp_path / "runs"


def make(runs, settings_hash: str, seed: int = 0, group: str = "default", task: str = "listops"):
    identity = {
        "run_group": group, "task": task, "attention": "nystrom", "protocol": "paper", "size": "full", "seed": seed
    }  # fmt: skip
    folder = run_folder(runs, identity, steps=5000, config_hash=settings_hash)
    folder.mkdir(parents=True)
    (folder / CONFIG).touch()
    return folder


def error_of(run: str, runs, seed: int | None = None) -> UserError:
    with pytest.raises(UserError) as caught:
        Run.find(run, runs=runs, seed=seed)
    assert "\n" not in str(caught.value)
    return caught.value


@pytest.mark.parametrize("typed", ["a1b9200f", "a1b9200", "a1b9"])
def test_the_hash_or_its_first_digits_name_a_run_of_any_group(runs, typed):
    folder = make(runs, "a1b9200f", group="table/more")
    make(runs, "a1c9200f")
    assert Run.find(typed, runs=runs) == Run(folder)


def test_a_folder_is_taken_as_it_is_also_when_it_is_not_there(runs, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    make(runs, "a1b9200f")
    (tmp_path / "a1b9").mkdir()
    assert str(Run.find("a1b9", runs=runs).folder) == "a1b9"
    assert str(Run.find("/nowhere/a1b9200f", runs=runs).folder) == "/nowhere/a1b9200f"
    error = error_of("a1b9", runs, seed=0)
    assert (error.kind, error.key) == ("no_effect", "seed")


def test_of_several_seeds_the_seed_is_typed(runs):
    folders = [make(runs, "a1b9200f", seed) for seed in range(3)]
    error = error_of("a1b9", runs)
    assert (error.kind, error.value) == ("several_runs", "a1b9")
    assert error.right == [f"run=a1b9200f seed={seed}" for seed in range(3)]
    assert Run.find("a1b9200f", runs=runs, seed=1) == Run(folders[1])


def test_digits_of_several_hashes_list_the_whole_hashes(runs):
    make(runs, "a1b9200f"), make(runs, "a1b93333")
    assert error_of("a1b9", runs).right == ["run=a1b9200f seed=0", "run=a1b93333 seed=0"]


def test_equal_runs_of_two_groups_are_told_apart_by_the_group_and_what_is_listed_can_be_typed(runs):
    folders = {make(runs, "a1b9200f"), make(runs, "a1b9200f", group="other/deep")}
    right = error_of("a1b9200f", runs).right
    assert right == ["run=default/a1b9200f seed=0", "run=other/deep/a1b9200f seed=0"]
    typed = [text.removeprefix("run=").split(" seed=") for text in right]
    assert {Run.find(run, runs=runs, seed=int(seed)).folder for run, seed in typed} == folders


def test_what_only_folders_tell_apart_is_listed_by_its_folder(runs):
    folders = {make(runs, "a1b9200f", task=task) for task in ("listops", "text")}
    right = error_of("a1b9200f", runs).right
    assert {Run.find(text.removeprefix("run="), runs=runs).folder for text in right} == folders


def test_another_seed_is_one_line_with_those_there_are(runs):
    make(runs, "a1b9200f")
    error = error_of("a1b9200f", runs, seed=7)
    assert (error.kind, error.key, error.value, error.right) == ("unknown_run", "seed", 7, ["run=a1b9200f seed=0"])


def test_an_unknown_hash_is_one_line_with_the_nearest(runs):
    make(runs, "a1b9200f"), make(runs, "0c3d4e5f")
    assert error_of("a1b9200e", runs).right == ["run=a1b9200f seed=0"]
    assert error_of("0c3e", runs).right == ["run=0c3d4e5f seed=0"]


@pytest.mark.parametrize("typed", ["a1b", "nystrom", "A1B9200F", "a1b9200ff"])
def test_what_is_neither_a_folder_nor_a_hash_is_one_line(runs, typed):
    make(runs, "a1b9200f")
    assert error_of(typed, runs).kind == "unknown_run"


def test_without_runs_there_is_no_nearest(runs):
    assert error_of("a1b9200f", runs).right is None


def test_many_runs_are_not_all_in_the_line(runs):
    for seed in range(20):
        make(runs, "a1b9200f", seed)
    error = error_of("a1b9200f", runs)
    assert len(error.right) == 20
    assert str(error).count("run=a1b9200f seed=") == 8


@pytest.mark.some_fast(3)
@pytest.mark.parametrize(
    "words",
    [["evaluate"], ["export", "to=model"], ["diagnose"], ["publish", "name=mine"]],
    ids=lambda words: words[0],
)
@pytest.mark.parametrize("digits", ["12345678", "1e100000"], ids=["a number", "a float"])
def test_each_command_asks_for_the_seed(home, refused, words, digits):
    """Digits alone are no number: Hydra would read a hash as 12345678, or as infinity."""
    for seed in range(2):
        make(home, digits, seed)
    error = refused(*words, f"run={digits}")
    assert (error.kind, error.right) == ("several_runs", [f"run={digits} seed={seed}" for seed in range(2)])
    assert main([words[0], f"run={digits}", "seed=1", *words[1:]]) == 2  # it is found, and not finished
