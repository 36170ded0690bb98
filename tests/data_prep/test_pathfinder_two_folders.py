"""`lra_release.gz` has two folders `pathfinder128`: the inner one is read, whichever comes first, and recorded."""

import pytest

from data_prep.archives import write_tar
from tests.data_prep.test_pathfinder_release import png, release, unpacked

OUTER = "lra_release/pathfinder128/curv_contour_length_14"
INNER = "lra_release/lra_release/pathfinder128/curv_contour_length_14"


def folder(name: str, *, broken: bool = False) -> dict[str, bytes]:
    """The ten images of a small release under another folder; a broken one has wrong labels and more images."""
    files = {}
    for k, (path, content) in enumerate(release().items()):
        path = f"{name}/{path.split('/curv_contour_length_14/')[1]}"
        if path.endswith(".png"):
            files[path] = png(255 if broken else k, side=128)
        else:
            files[path] = content.replace(b" 0 1.0", b" 1 1.0") if broken else content
    if broken:
        files[f"{name}/imgs/77/sample_0.png"] = png(255, side=128)
        files[f"{name}/metadata/77.npy"] = b"imgs/77 sample_0.png 0 1 1.0\n"
    return files


@pytest.mark.slow
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("first", ["outer", "inner"])
def test_the_inner_folder_is_read_and_recorded(prepare, tmp_path, first, packed):
    outer, inner = folder(OUTER, broken=True), folder(INNER)
    files = {**outer, **inner} if first == "outer" else {**inner, **outer}
    source = write_tar(tmp_path / "x.gz", files) if packed else unpacked(tmp_path / "there", files).parent
    manifest, splits = prepare("pathx", f"source={source}", "verify=false", size="full")
    assert sum(len(split) for split in splits.values()) == 30
    assert splits["train"].tokens.max() < 255
    assert manifest["source"]["folder"] == INNER
    assert manifest["source"]["folders_left_out"] == [OUTER]


def test_one_folder_is_recorded_too(prepare, tmp_path):
    manifest, _ = prepare("pathx", f"source={write_tar(tmp_path / 'x.gz', folder(INNER))}", "verify=false", size="full")
    assert manifest["source"]["folder"] == INNER
    assert manifest["source"]["folders_left_out"] == []


def test_two_folders_of_which_none_is_inside_are_refused(prepare, tmp_path):
    files = {**folder("a/pathfinder128/curv_contour_length_14"), **folder("b/pathfinder128/curv_contour_length_14")}
    line = prepare("pathx", f"source={write_tar(tmp_path / 'x.gz', files)}", "verify=false", size="full")
    assert "a/pathfinder128/curv_contour_length_14 and b/pathfinder128/curv_contour_length_14" in line
    assert "source=" in line


def test_the_folders_have_the_same_names_whichever_folder_the_source_is(prepare, tmp_path):
    there = unpacked(tmp_path / "there", {**folder(OUTER, broken=True), **folder(INNER)})
    manifest, _ = prepare("pathx", f"source={there}", "verify=false", size="full")
    assert manifest["source"]["folder"] == INNER
    assert manifest["source"]["folders_left_out"] == [OUTER]
