"""What the tests of data preparation share: preparing a store in this process."""

import json

import pytest

from lra import from_config
from lra.cli import main
from lra.data.manifest import MANIFEST
from lra.data.store import open_store
from lra.settings.compose import load_config


@pytest.fixture
def prepare(tmp_path, monkeypatch, capsys):
    """Prepare a task; gives the manifest and the splits, or the error line."""
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LRA_SOURCE_DIR", str(tmp_path / "elsewhere"))
    monkeypatch.chdir(tmp_path)

    def run(task: str, *words: str, size: str = "tiny"):
        capsys.readouterr()
        code = main(["prepare", f"task={task}", f"size={size}", *words])
        err = capsys.readouterr().err
        if code:
            assert len(err.strip().splitlines()) == 1, err
            return err
        folder = tmp_path / "data/stores" / task / size
        cfg = load_config("prepare", [f"task={task}", f"size={size}"])
        return json.loads((folder / MANIFEST).read_text()), open_store(folder, from_config.build_spec(cfg)).splits

    return run
