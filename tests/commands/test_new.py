"""lra new writes a package that works as it stands, under the name that was typed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from lra.cli import main
from lra.tools.verbs.new import EXAMPLE_NAMES, example_package


def texts(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("what", ["attention", "mixer"])
def test_the_files_are_those_of_the_example_with_the_name_in_them(tmp_path, monkeypatch, capsys, what):
    monkeypatch.chdir(tmp_path)
    assert main(["new", what, "my_own", "to=new/place"]) == 0
    folder = tmp_path / "new/place/my_own"
    written = texts(folder)
    code, options, test = "my_own/my_own.py", f"my_own/conf/{what}/my_own.yaml", "tests/test_my_own.py"
    assert set(written) == {"pyproject.toml", "README.md", "my_own/__init__.py", code, options, test}
    everything = "\n".join([*written, *written.values()])
    for left in ("own_package", "own-package", EXAMPLE_NAMES[what], EXAMPLE_NAMES[what].capitalize()):
        assert left not in everything
    assert "class MyOwn" in written[code]
    readme = written["README.md"]
    assert readme.count("\n") == 7
    assert readme in capsys.readouterr().out


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "attention",
        "task mine",
        "attention mine attention.radius=3",
        "attention nystrom",  # exists
        "attention s4d",  # a mixer
        "mixer all",  # every mixer
        "attention torch",  # a module of Python
        "attention a-b",
        "attention class",
        "attention yes",  # true, in YAML
        "attention größe",
        "attention ../mine",
        "attention there",  # a folder
        "attention mine to=file",
    ],
)
def test_what_cannot_be_made_is_one_line_and_leaves_nothing(tmp_path, monkeypatch, capsys, typed):
    (tmp_path / "there").mkdir()
    (tmp_path / "file").touch()
    monkeypatch.chdir(tmp_path)
    assert main(["new", *typed.split()]) == 2
    err = capsys.readouterr().err
    assert typed.rpartition(" ")[2] in err
    assert err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["file", "there"]


@pytest.mark.parametrize("what", ["attention", "mixer", "task"])
@pytest.mark.parametrize("name", ["__init__", "__main__", "__", "_", "_mine", "nan", "inf", "tests", "a" * 65])
def test_names_that_mean_something_to_python_hydra_or_wandb_are_refused(tmp_path, monkeypatch, refused, what, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my.csv").write_text("text,label\n" + "a,0\nb,1\n" * 20)
    error = refused("new", what, name, "to=packages", *(["source=my.csv"] if what == "task" else []))
    assert (error.kind, error.key, error.value) == ("bad_name", what, name)
    assert [path.name for path in tmp_path.iterdir()] == ["my.csv"]


def test_a_name_may_have_the_letters_of_a_tag(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(["new", "mixer", "a" * 64]) == 0


@pytest.mark.slow
@pytest.mark.some_in_ci(1)
@pytest.mark.parametrize("what", ["attention", "mixer"])
def test_the_package_works_at_once(tmp_path, data_dir, what):
    folder = tmp_path / "mine"
    env = {
        **os.environ,
        "LRA_DATA_DIR": str(data_dir),
        "LRA_RUNS_DIR": str(tmp_path / "runs"),
        "PYTHONPATH": str(folder),
    }

    def typed(*words: str, at: Path) -> str:
        done = subprocess.run(
            [sys.executable, "-m", *words], cwd=at, env=env, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    typed("lra", "new", what, "mine", at=tmp_path)
    env["LRA_CONF_PATH"] = str(folder / "mine/conf")
    assert "broken" not in typed("lra", "check", f"{what}=mine", at=folder)
    assert "test accuracy" in typed("lra", "train", f"{what}=mine", "size=tiny", "logger=csv", at=folder)
    assert " passed" in typed("pytest", "-q", ".", at=folder)


def test_the_example_is_where_it_is_looked_for():
    assert (example_package() / "pyproject.toml").is_file()
