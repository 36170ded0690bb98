"""What a document says can be typed is typed, at size=tiny in a scratch folder.

`documented.py` finds the commands; `stand_ins.py` says what is typed where one names a machine, an archive or a GPU
that a test has not. A new command runs as it is shown, until one of these tables speaks of it.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import tarfile
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from data_prep.archives import write_tar
from data_prep.forms import CIFAR_ON_HUB
from data_prep.image.source import write_stand_in as write_images
from data_prep.retrieval.source import FILES
from data_prep.text.source import write_stand_in as write_reviews
from lra.cli import usage
from lra.data.manifest import SPLITS
from tests.commands.documented import AMONG_WORDS, OWN_PACKAGE, documented_commands
from tests.commands.stand_ins import before, is_slow, refusal, spelled_out, typed
from tests.conftest import lra, lra_here
from tests.data_prep.parquet_files import in_cache, write_files
from tests.data_prep.pickled_rows import write_pickles
from tests.data_prep.test_image import COUNTS, as_python
from tests.data_prep.test_listops_symbols import any_order, drawn, with_ids
from tests.data_prep.test_parquet import image, text
from tests.data_prep.test_pathfinder_release import release, unpacked
from tests.data_prep.test_release_for_listops import files as listops_files
from tests.data_prep.test_retrieval import ROWS

NOT_TYPED = re.compile(rf"{OWN_PACKAGE.pattern}|^lra examine\b")  # tests/commands/test_examine.py types the second
SHOWN = {shown: place for shown, place in documented_commands().items() if not NOT_TYPED.search(shown)}
PLACES = {word: place for shown, place in SHOWN.items() for word in spelled_out(shown)}
PUBLISHED = Path(__file__).parents[2] / "runs/published"
TYPED = {typed(shown): shown for shown in reversed(PLACES)}  # what is typed, once each, with what it stands for
MOST_SLOW = 1  # of the slow commands that begin alike, as many are in continuous integration, evenly chosen


@pytest.fixture(scope="module")
def trained(data_dir, tmp_path_factory):
    """A folder of runs of the group `default` with one run, of a seed that no command names."""
    folder = tmp_path_factory.mktemp("trained")
    assert lra_here(*typed("lra train").split()[1:], "seed=5", data=data_dir, runs=folder / "runs").returncode == 0
    return folder / "runs"


@pytest.fixture(scope="module")
def data(data_dir, tmp_path_factory):
    """Prepared data that the commands share; a task's is made by the first that needs it."""
    return shutil.copytree(data_dir, tmp_path_factory.mktemp("shared") / "data")


@pytest.fixture
def scratch(trained, data, tmp_path, monkeypatch):
    """A folder with runs of the groups that commands name; ELSEWHERE and RUN by what they are here."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LRA_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("LRA_DATA_DIR", str(data))
    for group in ("default", "table", "table_tuned", "compare", "landmarks"):
        shutil.copytree(trained / "default", tmp_path / "runs" / group)
    (run,) = (path.parent for path in (tmp_path / "runs/default").rglob("result.json"))
    shutil.copytree(trained, tmp_path / "elsewhere")
    (tmp_path / "FOLDER/attention").mkdir(parents=True)
    (tmp_path / "FOLDER/attention/own.yaml").write_text("defaults: [full]\nname: own\n")
    (tmp_path / "my.csv").write_text("tokens,label\n" + "a b,0\nb c,1\n" * 20)
    columns = {"review": ["good", "bad"] * 20, "sentiment": [1, 0] * 20}
    pyarrow.parquet.write_table(pyarrow.table(columns), tmp_path / "my.parquet")
    (tmp_path / "runs/published").mkdir()
    for place in ("runs/published/demo.jsonl", "results.jsonl"):
        (tmp_path / place).write_text(json.dumps(json.loads((run / "result.json").read_text())) + "\n")
    as_published = ("listops.jsonl", "short_table.jsonl", "short_longer.jsonl", "short_landmarks.jsonl")
    as_published += ("short_landmarks_listops_600.jsonl", "bench_attention.json")
    for name in as_published:
        shutil.copy(PUBLISHED / name, tmp_path / "runs/published")
    return {"ELSEWHERE": str(tmp_path / "elsewhere"), "RUN": str(run)}


@pytest.fixture
def archives(tmp_path, monkeypatch):
    """Archives where the commands look for them, and a data folder without anything."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.setenv("LRA_SOURCE_DIR", str(tmp_path / "none"))
    files = as_python(write_images(tmp_path, COUNTS))
    (tmp_path / "Downloads").mkdir()
    for folder in (tmp_path, tmp_path / "Downloads"):
        write_tar(folder / "cifar-10-python.tar.gz", files)
    write_reviews(tmp_path, {"train": 8, "test": 8}).rename(tmp_path / "my.tar.gz")
    with tarfile.open(tmp_path / "my.tar.gz") as opened:
        opened.extractall(tmp_path, filter="data")  # aclImdb/
    write_files(tmp_path / "imdb", text(tmp_path)[1])
    in_cache(write_files(tmp_path / "cifar10", image(tmp_path)[1]), tmp_path / ".cache/huggingface/hub", CIFAR_ON_HUB)
    unpacked(tmp_path, release())
    rows = {f"lra_release/lra_release/tsv_data/{FILES[split]}": text.encode() for split, text in ROWS.items()}
    write_tar(tmp_path / "lra_release.gz", {**rows, **listops_files()})
    write_pickles(tmp_path / "pickles", "text", {split: [(([98],), 1), (([99],), 0)] for split in ("train", "test")})
    examples = {split: with_ids(drawn(64, seed), any_order(0)) for seed, split in enumerate(SPLITS)}
    write_pickles(tmp_path / "pickles", "listops", examples)


def type_in(command: str, scratch: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Type it: what is slow in a process of its own, which launchers and DDP start again."""
    for name, path in scratch.items():
        command = command.replace(name, path)
    data, runs = (Path(os.environ[name]) for name in ("LRA_DATA_DIR", "LRA_RUNS_DIR"))
    run = lra if is_slow(command, TYPED) else lra_here
    return run(*shlex.split(command)[1:], data=data, runs=runs)


def sampled() -> set[str]:
    """The slow commands that continuous integration types."""
    alike: dict[str, list[str]] = {}
    for command in filter(lambda command: is_slow(command, TYPED), TYPED):
        alike.setdefault(" ".join(word for word in command.split() if "=" not in word), []).append(command)
    return {commands[len(commands) * i // MOST_SLOW] for commands in alike.values() for i in range(MOST_SLOW)}


SAMPLE = sampled()


def marked(command: str) -> object:
    """Those of the first page that a user reads are fast, if they are quick."""
    if not is_slow(command, TYPED):
        return pytest.param(command, marks=() if PLACES[TYPED[command]] == "README.md" else pytest.mark.slow)
    return pytest.param(command, marks=[pytest.mark.slow, *([] if command in SAMPLE else [pytest.mark.exhaustive])])


@pytest.mark.parametrize("command", [marked(command) for command in TYPED], ids=str)
def test_what_is_shown_works(command, scratch, request):
    if command.startswith("lra prepare"):
        request.getfixturevalue("archives")
    first = before(TYPED[command])
    if first is not None:
        assert type_in(first, scratch).returncode == 0
    done = type_in(command, scratch)
    where = f"{TYPED[command]}  ({PLACES[TYPED[command]]})\n{done.stderr}"
    said = refusal(command)
    if said is None:
        assert done.returncode == 0, where
        assert done.stdout.strip(), where
        assert "No record yet" not in done.stdout, where
        assert "lra: " not in done.stderr, where
    else:
        assert done.returncode == 2, where
        assert said in done.stderr, where
        assert done.stderr.count("\n") == 1, where


COMPOSED = [command for command in TYPED if re.match("lra train (?!-m)", command) and is_slow(command, TYPED)]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMPOSED, ids=str)
def test_a_training_that_is_slow_composes(command, tmp_path):
    done = lra_here(*shlex.split(command)[1:], "--cfg", "job", data=tmp_path / "data", runs=tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    assert "recipe:" in done.stdout


def test_the_documents_are_read():
    """A reader that finds nothing would let everything pass."""
    places = set(PLACES.values())
    assert {"README.md", "CONTRIBUTING.md", "data_prep/README.md", "docs/performance.md", "docs/protocol.md"} <= places
    assert {"docs/reproduce.md", "docs/clusters.md"} <= places
    assert {f"lra {verb} --help" for verb in ("train", "table", "sweep", "compare", "show")} <= places
    assert {"show_runs.py", "import.yaml"} <= places
    assert set(AMONG_WORDS.findall(usage())) <= PLACES.keys()
    assert len(TYPED) > 80
