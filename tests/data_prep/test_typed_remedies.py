"""What a line about prepared data says to type can be typed: in a real shell, with all that was typed and matters."""

import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from data_prep.listops import tsv
from lra.base.printed_commands import override, typed_arguments
from lra.cli import main
from lra.data.manifest import MANIFEST
from lra.data.prepare_again import make_again, prepare_command
from tests.conftest import outer_environment
from tests.data_prep.test_listops_symbols import drawn

NAME = 'it\'s "my" $data, (new)'


@pytest.fixture
def source(tmp_path, monkeypatch) -> Path:
    """ListOps in a folder with a hard name; the data folder has one too, and is not the usual one."""
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "usual"))
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.chdir(tmp_path)
    place = tmp_path / NAME / "listops"
    place.mkdir(parents=True)
    for seed, name in enumerate(tsv.FILES.values()):
        rows = [f"{expression}\t{value}" for expression, value in drawn(300, seed)]
        (place / name).write_text("\n".join(["Source\tTarget", *rows, ""]))
    return place


def typed_in_a_shell(line: str, folder: Path) -> subprocess.CompletedProcess[str]:
    shell = f'lra() {{ {shlex.quote(sys.executable)} -m lra "$@"; }}\n{line}'
    return subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, cwd=folder, env=outer_environment())


@pytest.mark.slow
def test_a_remedy_typed_in_a_shell_replaces_the_store(refused, source, tmp_path):
    data = tmp_path / f"{NAME}s"
    places = [override("source", source), override("paths.data", data)]
    words = ["task=listops", "size=tiny", "verify=false", *places]
    assert main(["prepare", *words]) == 0
    changed = ["task.sizes.tiny.train=200", "protocol=clean", "attention=full", "recipe.steps=2", "logger=csv"]
    error = refused("train", *words, *changed)
    assert (error.kind, error.key, error.value, error.right) == ("other_data", "train", 200, 256)
    remedy = str(error).partition("to replace it: ")[2]
    assert typed_in_a_shell(remedy, tmp_path).returncode == 0
    manifest = json.loads((data / "stores/listops/tiny" / MANIFEST).read_text())
    assert manifest["asked"]["settings"]["train"] == manifest["splits"]["train"]["count"] == 200
    assert manifest["asked"]["source"] == str(source)
    assert not (tmp_path / "usual/stores").exists()
    assert main(["train", *words, *changed]) == 0, "so the command that was refused goes on"


@pytest.mark.slow
def test_a_remedy_for_a_damaged_store_typed_in_a_shell_makes_it_again(refused, source, tmp_path):
    words = ["task=listops", "size=tiny", "verify=false", override("source", source)]
    assert main(["prepare", *words]) == 0
    (tmp_path / "usual/stores/listops/tiny/tokens.npy").write_bytes(b"x")
    error = refused("prepare", *words, "check=true")
    done = typed_in_a_shell(str(error).partition("make it again: ")[2], tmp_path)
    assert done.returncode == 0, done.stderr
    assert main(["prepare", *words, "check=true"]) == 0
    manifest = json.loads((tmp_path / "usual/stores/listops/tiny" / MANIFEST).read_text())
    assert (manifest["origin"], manifest["source"]["path"]) == ("stand-in", str(source))


def test_a_remedy_keeps_what_decides_what_is_prepared_whichever_verb_was_typed(tmp_path, monkeypatch):
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path))
    folder = tmp_path / "stores/text/tiny"
    kept = ["protocol=clean", "protocol.text_dev=test", "task.sizes.tiny.max_length=9", "verify=false", "source=x"]
    others = [
        "task=text,image",
        "size=tiny",
        "seed=3",
        "attention=full",
        "recipe.steps=2",
        "force=true",
        "+trainer.x=1",
    ]
    with typed_arguments(["train", "-m", *others, *kept, "--config-dir", "my conf"]):
        words = shlex.split(prepare_command(folder, "force=true"))
        assert words == ["lra", "prepare", "task=text", "size=tiny", "--config-dir", "my conf", *kept, "force=true"]
        assert shlex.split(prepare_command(folder, "source=y"))[-1] == "source=y"
        assert "source=x" not in prepare_command(folder, "source=y")
    assert make_again(folder) == "make it again: lra prepare task=text size=tiny force=true"


def test_a_store_elsewhere_is_made_again_there(tmp_path, monkeypatch):
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "usual"))
    words = shlex.split(prepare_command(tmp_path / "an other/stores/text/tiny"))
    assert words[-1] == override("paths.data", tmp_path / "an other")


def test_settings_that_were_not_typed_are_in_the_remedy(refused, source, monkeypatch, capsys):
    words = ["task=listops", "size=tiny", "verify=false"]
    assert main(["prepare", *words, override("source", source), "task.sizes.tiny.train=200"]) == 0
    error = refused("prepare", *words, override("source", source))
    remedy = shlex.split(str(error).partition("to replace it: ")[2])
    assert {"task.sizes.tiny.train=256", "verify=false", "force=true", override("source", source)} < set(remedy)


def test_the_command_of_an_unreadable_file_is_quoted(tmp_path, monkeypatch):
    from lra.base import files
    from lra.types import UserError

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    path = tmp_path / NAME
    path.touch()
    monkeypatch.setattr(files.Path, "open", refuse)
    with pytest.raises(UserError) as refused:
        files.regular_file(path)
    assert shlex.split(refused.value.right) == ["chmod", "u+r", str(path)]
