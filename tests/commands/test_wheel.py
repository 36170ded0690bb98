"""The wheel: built, installed in an environment of its own, run from another folder."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile

import pytest

from tests.conftest import ROOT


@pytest.mark.slow
def test_the_wheel_carries_conf_and_data_prep_and_runs_elsewhere(tmp_path):
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "-w", str(tmp_path), str(ROOT)], check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for path in (ROOT / "conf").rglob("*.yaml"):
        assert f"lra/conf/{path.relative_to(ROOT / 'conf')}" in names
    assert "lra/results/report.html" in names
    assert "data_prep/listops/builder.py" in names

    environment, elsewhere = tmp_path / "venv", tmp_path / "elsewhere"
    elsewhere.mkdir()
    subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
    python = environment / "bin" / "python"
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    (site,) = environment.glob("lib/python*/site-packages")
    places = [path for path in sys.path if "site-packages" in path]  # torch and the rest, not this checkout
    (site / "dependencies.pth").write_text("\n".join(places))
    env = {**os.environ, "LRA_DATA_DIR": str(tmp_path / "data"), "LRA_RUNS_DIR": str(tmp_path / "runs")}
    env.pop("PYTHONPATH", None)
    command = [environment / "bin" / "lra", "train", "size=tiny", "recipe.steps=2", "logger=csv"]
    done = subprocess.run(command, cwd=elsewhere, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "test accuracy" in done.stdout
    command = [environment / "bin" / "lra", "new", "attention", "mine"]
    done = subprocess.run(command, cwd=elsewhere, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert (elsewhere / "mine/mine/conf/attention/mine.yaml").is_file()
    where = subprocess.run(
        [python, "-c", "import lra, data_prep; print(lra.__file__, data_prep.__file__)"],
        cwd=elsewhere, env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert all(path.startswith(str(environment)) for path in where.stdout.split())
