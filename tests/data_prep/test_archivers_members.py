"""What archivers add to an archive of their own, such as folders PaxHeader, is no part of a data set."""

import pytest

from data_prep.archives import write_tar
from data_prep.text import source as text_source
from tests.data_prep.test_pathfinder_release import release
from tests.data_prep.test_release_for_listops import files, unpacked
from tests.data_prep.test_retrieval import FILES, ROWS

ADDED = ("PaxHeader", "PaxHeaders", "PaxHeaders.4711", "GNUSparseFile.12", "__MACOSX")
CONTENT = b"30 mtime=1617181920.123456789\n"


def with_added(content: dict[str, bytes]) -> dict[str, bytes]:
    """The files, before each one those of archivers that bear its name."""
    made = {}
    for name, raw in content.items():
        folder, _, file = name.rpartition("/")
        for added in ADDED:
            made[f"{folder}/{added}/{file}"] = CONTENT
        made[f"{folder}/._{file}"] = CONTENT
        made[name] = raw
    return made


def reviews() -> dict[str, bytes]:
    names = [(split, label, number) for split in ("train", "test") for label in ("pos", "neg") for number in range(3)]
    return {f"aclImdb/{split}/{label}/{number}_7.txt": b"good" for split, label, number in names}


SOURCES = {
    "listops": files(),
    "retrieval": {f"lra_release/lra_release/tsv_data/{FILES[split]}": text.encode() for split, text in ROWS.items()},
    "text": reviews(),
    "pathfinder": release(),
}


@pytest.mark.some_fast(3)
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("task", SOURCES)
def test_they_are_skipped(prepare, tmp_path, task, packed):
    plain = write_tar(tmp_path / "plain.gz", SOURCES[task])
    wanted, _ = prepare(task, f"source={plain}", "verify=false")
    content = with_added(SOURCES[task])
    if packed:
        source = write_tar(tmp_path / "lra_release.gz", content)
    else:
        source = unpacked(tmp_path / "there", content) / next(iter(content)).split("/")[0]
    again = prepare(task, f"source={source}", "verify=false", "force=true")
    assert not isinstance(again, str), again
    assert again[0]["arrays"] == wanted["arrays"]
    assert "left_out" not in again[0]["source"] or task == "pathfinder"
    assert text_source.NAMES


def test_the_paths_in_a_line_are_those_of_the_archive(refused, prepare, tmp_path):
    content = {**files("a"), **files("b/listops-1000")}
    source = write_tar(tmp_path / "x.gz", content)
    error = refused("prepare", "task=listops", "size=tiny", f"source={source}", "verify=false")
    assert (error.kind, error.value) == ("two_folders", ["a", "b/listops-1000"])
