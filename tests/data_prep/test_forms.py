"""Where the data of each task can be had, and where its forms lie."""

import pytest

from data_prep import download
from data_prep.forms import FORMS, found, names_of
from lra.base.paths import conf_names
from lra.base.probes import probe_named
from lra.cli import main
from tests.data_prep.test_parquet import in_cache, text, write_files


@pytest.fixture
def folders(tmp_path, monkeypatch):
    """The folders that are searched, both empty; no server answers."""
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LRA_SOURCE_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.chdir(tmp_path)

    def no_answer(request: object) -> None:
        raise TimeoutError

    monkeypatch.setattr(download, "_answer", no_answer)
    return [tmp_path / "data/sources", tmp_path / "elsewhere"]


@pytest.mark.parametrize(
    "task, words", [("text", []), ("image", []), ("retrieval", []), ("listops", ["source=download"])]
)
def test_five_lines_say_where_missing_data_can_be_had(folders, capsys, task, words):
    assert main(["prepare", f"task={task}", *words]) == 2
    out, err = capsys.readouterr()
    assert len(err.splitlines()) == 1
    forms, size, address, searched, command = out.replace(f"preparing {task} size=full …\n", "").splitlines()
    for form in FORMS[task]:
        assert form.names[0] in forms
        assert form.size in size or not form.address
        assert form.address in address
    assert all(str(folder) in searched for folder in folders)
    assert f"lra prepare task={task} source=" in command


def test_the_command_that_follows_keeps_what_was_typed(folders, capsys):
    assert main(["prepare", "task=retrieval", "size=short", "verify=false", "source=download", "protocol=clean"]) == 2
    command = capsys.readouterr().out.splitlines()[-1].partition(" or from any folder: ")[2]
    kept = ["task=retrieval", "size=short", "verify=false", "protocol=clean"]
    assert command.split() == ["lra", "prepare", *kept, "source=/data/lra_release.gz"]


def test_nothing_of_it_is_said_by_train_and_for_a_wrong_file(folders, capsys, tmp_path):
    (tmp_path / "x.tar.gz").write_bytes(b"x")
    assert main(["prepare", "task=text", f"source={tmp_path}/x.tar.gz"]) == 2
    assert "address" not in capsys.readouterr().out


def test_the_doctor_lists_which_forms_of_each_task_lie_where(folders, capsys, tmp_path):
    _, tables = text(tmp_path)
    cached = in_cache(write_files(tmp_path / "downloaded", tables), folders[1], "stanfordnlp/imdb")
    folders[0].mkdir(parents=True)
    (folders[0] / "lra_release.gz").touch()
    assert main(["doctor"]) == 0
    lines = {line.split()[3]: line for line in capsys.readouterr().out.splitlines() if " forms of " in line}
    assert set(lines) == {task for task in conf_names("task") if not probe_named(task)} == set(FORMS)
    assert str(cached) in lines["text"]
    for task in ("listops", "pathfinder", "pathx", "retrieval"):
        assert str(folders[0] / "lra_release.gz") in lines[task]
    assert str(tmp_path) not in lines["image"]
    assert found("image", folders) == []


def test_what_is_listed_is_what_prepare_finds(prepare, tmp_path):
    for task in FORMS:
        line = prepare(task, "source=/nowhere", size="full")
        said = line.split("it may be ")[1].split(", or a folder")[0].split(", ")
        assert set(said) <= set(names_of(task)), task
