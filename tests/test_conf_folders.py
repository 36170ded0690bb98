"""Conf folders of the user's own: every verb finds what is in them, and one line says what is wrong with one."""

import os
from pathlib import Path

import pytest

from lra.base.paths import conf_dirs, conf_names
from lra.cli import main
from lra.settings.compose import load_config
from tests.conftest import lra

SHORT = ["size=tiny", "recipe.steps=2", "recipe.eval_every=2", "trainer.threads=1", "logger=csv"]
ATTENTION = "name: mine\n_target_: lra.attention.full.FullAttention\n_partial_: true\nkernel: math\n"
ATTENTION += "attention_dropout: 0.1\n"
SWEEP = (
    "# @package _global_\nrun_group: mine\nhydra:\n  sweeper:\n    params:\n      attention: mine\n      seed: 0,1\n"
)


def write(folder: Path, **files: str) -> Path:
    """`attention__mine="…"` as attention/mine.yaml."""
    for name, text in files.items():
        path = folder / f"{name.replace('__', '/')}.yaml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def own(home, tmp_path, monkeypatch):
    """A folder with an attention and a sweep, found by the variable."""
    folder = write(tmp_path / "own", attention__mine=ATTENTION, sweep__mine=SWEEP)
    monkeypatch.setenv("LRA_CONF_PATH", str(folder))
    return folder


def test_names_of_all_folders_are_choices(own):
    assert conf_dirs()[1:] == [own]
    assert {"mine", "nystrom"} <= set(conf_names("attention"))
    assert load_config("train", ["attention=mine"]).attention.kernel == "math"


def test_a_file_that_changes_within_a_process_is_composed_anew(own):
    assert load_config("train", ["attention=mine", "seed=1"]).attention.kernel == "math"
    path = own / "attention/mine.yaml"
    path.write_text(ATTENTION.replace("math", "fused"))
    os.utime(path, ns=(0, path.stat().st_mtime_ns + 1))  # on a file system with coarse times too
    assert load_config("train", ["attention=mine", "seed=2"]).attention.kernel == "fused"
    (own / "attention/.#mine.yaml").symlink_to("somebody@somewhere")  # what an editor leaves beside an open file
    assert load_config("train", ["attention=mine", "seed=3"]).attention.kernel == "fused"


@pytest.mark.slow
def test_a_run_trains_is_shown_is_evaluated_and_compared(own, capsys, result_of):
    assert main(["train", "attention=mine", *SHORT]) == 0
    (run,) = (path.parent for path in Path("runs").rglob("result.json"))
    assert run.parts[3] == "mine"
    assert result_of("evaluate", f"run={run}").is_as_recorded
    assert main(["show", "model", "task=listops", "attention=mine", "size=tiny"]) == 0
    assert main(["bench", "step", "attention=mine", *SHORT, "steps=1", "dev_batches=1"]) == 0
    assert main(["table", "size=tiny", "run_group=default"]) == 0
    assert "mine" in capsys.readouterr().out


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [
        ["train", "-m", "attention=mine,none", *SHORT],
        pytest.param(["table", "run", "task=listops", "attention=mine", "seed=0", *SHORT], marks=pytest.mark.slow),
        pytest.param(["compare", "plan", "sweep=mine", *SHORT], marks=pytest.mark.slow),
        ["sweep", "landmarks", "show", "sweep=mine"],
        ["prepare", "task=listops", "size=tiny"],
    ],
    ids=" ".join,
)
def test_every_verb_finds_it(own, capsys, words):
    assert main(words) == 0
    assert "lra:" not in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.some_in_ci(1)
@pytest.mark.parametrize("more", [["workers=2"], ["workers=2", "hydra/launcher=joblib"]], ids=str)
def test_workers_find_it(own, data_dir, home, more):
    words = ["compare", "run", "task=listops", "attention=mine,none", "seed=0", *SHORT]
    done = lra(*words, *more, data=data_dir, runs=home)
    assert done.returncode == 0, done.stderr
    assert len(list(home.rglob("mine/*/*/result.json"))) == 1


def test_hydras_own_flags_find_it(own, capsys):
    assert main(["train", "--cfg", "job", "attention=mine"]) == 0
    assert "name: mine" in capsys.readouterr().out


def test_the_doctor_lists_it(own, capsys):
    assert main(["doctor"]) == 0
    assert f"{own}: 2 files of attention, sweep" in " ".join(capsys.readouterr().out.split())


@pytest.mark.parametrize(
    "make, line",
    [
        (lambda place: place / "nowhere", "nowhere "),
        (lambda place: write(place, mine="a: 1") / "mine.yaml", "mine.yaml "),
        (lambda place: write(place / "bare", mine="a: 1"), "bare has no GROUP/NAME.yaml"),
        (lambda place: write(place, attention__nystrom=ATTENTION), "nystrom.yaml, which cannot be replaced"),
        (
            lambda place: f"{write(place / 'a', task__x='')}{os.pathsep}{write(place / 'b', task__x='')}",
            "a/task/x.yaml, which cannot be replaced",
        ),
    ],
    ids=["absent", "file", "no groups", "our name", "twice"],
)
@pytest.mark.parametrize("words", [["train"], ["train", "--cfg", "job"], ["table"], ["doctor"]], ids=" ".join)
def test_a_wrong_folder_is_one_line(home, tmp_path, monkeypatch, capsys, make, line, words):
    monkeypatch.setenv("LRA_CONF_PATH", str(make(tmp_path / "wrong")))
    assert main(words) == 2
    err = capsys.readouterr().err
    assert line in err
    assert err.count("\n") == 1


def test_a_defaults_list_that_hydra_cannot_read_is_the_users_mistake(own, capsys):
    write(own, experiment__mine="# @package _global_\ndefaults:\n  - override /attention: [full]\n  - /task: text\n")
    assert main(["train", "experiment=mine", "--cfg", "job"]) == 2
    assert "not foreseen" not in capsys.readouterr().err


def test_a_file_that_is_no_yaml_is_one_line(own, capsys):
    (own / "attention" / "mine.yaml").write_text("a: [")
    assert main(["train", "attention=mine"]) == 2
    err = capsys.readouterr().err
    assert f"{own / 'attention' / 'mine.yaml'} cannot be read as YAML" in err
    assert err.count("\n") == 1


def install(site: Path, value: str) -> None:
    """What pip leaves of a package `thing` with an entry point, in a folder of the search path."""
    info = site / "thing-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1\n")
    (info / "entry_points.txt").write_text(f"[lra.conf]\nthing = {value}\n")
    (site / "thing").mkdir()
    (site / "thing" / "__init__.py").write_text("raise AssertionError('looking for YAML files runs no code')\n")


@pytest.mark.parametrize("value, folder", [("thing", "thing"), ("thing:conf", "thing/conf")])
def test_an_installed_package_brings_its_folder(home, tmp_path, monkeypatch, value, folder):
    site = tmp_path / "site"
    install(site, value)
    write(site / folder, attention__thing=ATTENTION.replace("mine", "thing"))
    monkeypatch.syspath_prepend(site)
    monkeypatch.setenv("LRA_CONF_PATH", str(write(tmp_path / "x", task__x="name: x")))  # not looked up before
    assert site / folder in conf_dirs()
    assert load_config("train", ["attention=thing"]).attention.name == "thing"


def test_an_entry_point_that_leads_nowhere_is_one_line(home, tmp_path, monkeypatch, capsys):
    install(tmp_path / "site", "gone")
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("LRA_CONF_PATH", str(write(tmp_path / "x", task__x="name: x")))
    assert main(["train"]) == 2
    assert "thing = gone names no package that is installed here" in capsys.readouterr().err
