"""check=true: a token that changed since the store was made is found before anything is trained."""

import shutil

from lra.cli import main


def test_a_flipped_token_stops_a_checked_run_before_it_trains(home, data_dir, tmp_path, monkeypatch, capsys):
    shutil.copytree(data_dir / "stores", tmp_path / "data/stores")
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    (path,) = (tmp_path / "data/stores/listops/tiny").rglob("tokens.npy")
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    assert main(["train", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv", "check=true"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "tokens.npy has changed since it was made" in line
    assert "force=true" in line
    assert not list(home.rglob("config.yaml"))
