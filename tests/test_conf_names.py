"""A file of the user's own is called as it calls itself: a copy with the name of another would mix up their runs."""

import pytest

from lra.cli import main
from tests.test_conf_folders import ATTENTION, write


@pytest.mark.parametrize(
    "group, text, said",
    [
        ("attention", ATTENTION.replace("mine", "nystrom"), "has name: nystrom, by which"),
        ("attention", "defaults: [full]\n", "has no name, by which"),
        ("mixer", "name: 's4d'  # a copy\n", "has name: s4d, by which"),
        ("task", "name: listops\n", "has name: listops, by which"),
        ("protocol", "name: paper\n", "has name: paper, by which"),
    ],
)
@pytest.mark.parametrize("words", [["train", "--cfg", "job"], ["table"], ["doctor"]], ids=" ".join)
def test_a_copy_that_keeps_the_name_is_one_line(home, tmp_path, monkeypatch, capsys, group, text, said, words):
    folder = write(tmp_path / "own", **{f"{group}__copied": text})
    monkeypatch.setenv("LRA_CONF_PATH", str(folder))
    assert main(words) == 2
    err = capsys.readouterr().err
    assert f"{folder / group / 'copied.yaml'} {said} its runs and rows are called; write in it: name: copied\n" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize("name", ["mine", "'mine'", '"mine"  # quoted'])
def test_the_name_of_the_file_is_right(home, tmp_path, monkeypatch, capsys, name):
    folder = write(tmp_path / "own", attention__mine=ATTENTION.replace("name: mine", f"name: {name}"))
    write(folder, attention__base="kernel: math\n", model__small="defaults: [encoder]\nnum_layers: 1\n")
    monkeypatch.setenv("LRA_CONF_PATH", str(folder))
    assert main(["train", "--cfg", "job"]) == 0
