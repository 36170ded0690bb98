"""The habits are one text: hosted CI runs `.ci/run`, and the commit hooks are the quick commands of `make check`."""

import os
import re
import subprocess
import tomllib
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def commands_of(target: str, *words: str) -> list[str]:
    """What `make TARGET` would type, with its set-up done."""
    words = ["make", "--dry-run", "--no-print-directory", "--assume-old=.venv/.installed", target, *words]
    env = {key: value for key, value in os.environ.items() if key != "MAKEFLAGS"}  # of the make that runs this test
    done = subprocess.run(words, cwd=ROOT, env=env, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_the_hooks_are_the_first_commands_of_make_check():
    (local,) = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]
    assert local["repo"] == "local"
    assert [hook["entry"] for hook in local["hooks"]] == commands_of("check")[:2]
    assert all(hook["language"] == "system" and hook["pass_filenames"] is False for hook in local["hooks"])


def test_hosted_ci_runs_the_script_on_each_python_that_the_package_allows():
    workflow = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    (job,) = workflow["jobs"].values()
    (step,) = [step for step in job["steps"] if "run" in step]
    assert step["run"] == ".ci/run"
    assert step["env"]["PYTHON"] == "python${{ matrix.python }}"
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    lowest, above = map(int, re.fullmatch(r">=3\.(\d+),<3\.(\d+)", project["requires-python"]).groups())
    assert job["strategy"]["matrix"]["python"] == [f"3.{minor}" for minor in range(lowest, above)]


def test_ci_sets_up_with_the_python_of_its_environment(tmp_path):
    (tmp_path / ".ci").mkdir()
    for name in (".ci/run", "Makefile", "pyproject.toml", "constraints.txt"):
        (tmp_path / name).write_bytes((ROOT / name).read_bytes())
    (tmp_path / ".ci/run").chmod(0o755)
    asked = tmp_path / "asked"
    python = tmp_path / "python3.12"
    python.write_text(f'#!/bin/sh\necho "$@" >> {asked}\nexit 7\n')
    python.chmod(0o755)
    env = {**os.environ, "PYTHON": str(python)}
    done = subprocess.run([tmp_path / ".ci/run"], env=env, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "sys.version_info" in asked.read_text()


def test_each_template_has_a_name_and_says_what_it_is_for():
    templates = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.md"))
    assert len(templates) == 2
    for path in templates:
        header = yaml.safe_load(path.read_text().split("---")[1])
        assert header["name"], path
        assert header["about"], path
