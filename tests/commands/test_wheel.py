"""The wheel: built, installed in an environment of its own, run from another folder."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import lra
from tests.conftest import ROOT

pytestmark = pytest.mark.slow
MOST_PUBLISHED_BYTES = 1_500_000  # of the published records in the wheel, compressed
PARTS = ("lra/tables/report/report.html", "lra/terminal/references.bib", "data_prep/listops/source.py")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*build, "-w", str(folder), str(ROOT)], check=True)
    (built,) = folder.glob("*.whl")
    return built


def empty_environment(folder: Path) -> Path:
    """Make a virtual environment without packages, and return its Python."""
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return folder / "bin" / "python"


def lra_elsewhere(python: Path, folder: Path, *words: str) -> str:
    """Run a command in a folder that is not this checkout, with data and runs of its own; return what it prints."""
    env = {**os.environ, "LRA_DATA_DIR": str(folder / "data"), "LRA_RUNS_DIR": str(folder / "runs")}
    env.pop("PYTHONPATH", None)
    command = [python.with_name("lra"), *words]
    done = subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_carries_conf_and_data_prep_and_the_version(wheel):
    archive = zipfile.ZipFile(wheel)
    for path in (ROOT / "conf").rglob("*.yaml"):
        assert f"lra/conf/{path.relative_to(ROOT / 'conf')}" in archive.namelist()
    assert set(PARTS) <= set(archive.namelist())
    metadata = archive.read(f"lra-{lra.__version__}.dist-info/METADATA").decode()
    assert f"\nVersion: {lra.__version__}\n" in metadata


def test_it_carries_the_published_records_and_little_beside_them(wheel):
    files = [each for each in zipfile.ZipFile(wheel).infolist() if each.filename.startswith("lra/published/")]
    published = {path.name for path in (ROOT / "runs/published").glob("*.jsonl")}
    assert {Path(each.filename).name for each in files} == published
    assert sum(each.compress_size for each in files) < MOST_PUBLISHED_BYTES


@pytest.mark.exhaustive
def test_it_runs_elsewhere(wheel, tmp_path):
    python = empty_environment(tmp_path / "venv")
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    (site,) = tmp_path.glob("venv/lib/python*/site-packages")
    places = [path for path in sys.path if "site-packages" in path]  # torch and the rest, not this checkout
    (site / "dependencies.pth").write_text("\n".join(places))
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    assert "test accuracy" in lra_elsewhere(python, elsewhere, "train", "size=tiny", "recipe.steps=2", "logger=csv")
    lra_elsewhere(python, elsewhere, "new", "attention", "mine")
    assert (elsewhere / "mine/mine/conf/attention/mine.yaml").is_file()
    for verb in ("compare", "table"):  # from the records in the wheel, which nothing is written to
        shown = lra_elsewhere(python, elsewhere, verb, "show", "run_group=published/listops.jsonl")
        assert "linformer" in shown
    assert (elsewhere / "runs/published/listops-compare-listops.png").is_file()
    assert {path.suffix for path in (site / "lra/published").iterdir()} == {".jsonl"}
    where = subprocess.run(
        [python, "-c", "import lra, data_prep; print(lra.__file__, data_prep.__file__)"],
        cwd=elsewhere, capture_output=True, text=True, check=True,
        env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"},
    )  # fmt: skip
    assert all(path.startswith(str(tmp_path / "venv")) for path in where.stdout.split())


def uv() -> str:
    """Find the command `uv`, beside this Python or elsewhere; skip the test without it."""
    beside = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    found = shutil.which("uv", path=beside)
    if found is None:
        pytest.skip("uv is not installed; type: pip install uv")
    return found


@pytest.mark.some_in_ci(1)
@pytest.mark.parametrize("way", ["wheel with the constraints", "pip install .", "uv pip install ."])
def test_an_empty_environment_has_all_that_it_needs(way, wheel, tmp_path):
    """The one test that needs an index of packages: what the metadata does not name is not there to be imported.

    torch is there before, in the build for this machine, as the documents say.
    """
    installer = [uv()] if way.startswith("uv") else []
    python = empty_environment(tmp_path / "venv")
    subprocess.run([python, ROOT / "install_torch.py"], check=True, capture_output=True)
    install = {
        "wheel with the constraints": [python, "-m", "pip", "install", "-c", ROOT / "constraints.txt", wheel],
        "pip install .": [python, "-m", "pip", "install", "."],
        "uv pip install .": [*installer, "pip", "install", "--python", python, "."],
    }
    before = {path.name for path in ROOT.iterdir()}
    done = subprocess.run([*install[way], "--quiet"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert {path.name for path in ROOT.iterdir()} == before, "building leaves nothing in the checkout"
    (tmp_path / "elsewhere").mkdir()
    assert "test accuracy" in lra_elsewhere(python, tmp_path / "elsewhere", "train", "size=tiny")
    assert subprocess.run([python, "-m", "pip", "check"], check=False).returncode == 0
