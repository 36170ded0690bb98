"""Pathfinder from the benchmark's folder: labels from the metadata, empty files left out, splits that are recorded."""

import io
import itertools

import numpy as np
import pytest
import torch
from PIL import Image

from data_prep.archives import write_tar
from data_prep.pathfinder.source import split_numbers

HARD = "lra_release/lra_release/pathfinder32/curv_contour_length_14"
COUNT = 30


def png(level: int, side: int = 32) -> bytes:
    file = io.BytesIO()
    Image.fromarray(np.full((side, side), level, np.uint8)).save(file, "PNG")
    return file.getvalue()


def release() -> dict[str, bytes]:
    """Three folders of ten images: image k has level k; label 1 for every third; file 5 is empty."""
    files = {}
    for folder in (10, 2, 1):  # sorted as numbers: 1, 2, 10
        lines = []
        for k in range(10):
            level = {1: 0, 2: 10, 10: 20}[folder] + k
            files[f"{HARD}/imgs/{folder}/sample_{k}.png"] = b"" if level == 5 else png(level)
            lines.append(f"imgs/{folder} sample_{k}.png {k} {int(level % 3 == 0)} 1.0 14 4 2 0.5 1 1")
        files[f"{HARD}/metadata/{folder}.npy"] = ("\n".join(lines) + "\n").encode()
    return files


def unpacked(tmp_path, files):
    for name, content in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return tmp_path / "lra_release"


@pytest.mark.slow
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("how", ["permutation", "seed42"])
def test_images_get_the_labels_of_the_metadata(prepare, tmp_path, packed, how):
    source = write_tar(tmp_path / "x.gz", release()) if packed else unpacked(tmp_path, release())
    manifest, splits = prepare("pathfinder", f"source={source}", "verify=false", f"task.split={how}")
    levels = {name: [split.example(i)[0][0][0] for i in range(len(split))] for name, split in splits.items()}
    assert sorted(itertools.chain(*levels.values())) == [k for k in range(COUNT) if k != 5]
    assert [len(part) for part in levels.values()] == [25, 2, 2]
    assert all(
        split.example(i)[1] == (level % 3 == 0) for n, split in splits.items() for i, level in enumerate(levels[n])
    )
    assert manifest["source"]["empty_files_skipped"] == 1
    assert manifest["source"]["split"]["how"] == how
    assert manifest["origin"] == "stand-in"


@pytest.mark.slow
@pytest.mark.exhaustive
def test_a_release_that_was_unpacked_for_another_task_is_not_in_the_way(prepare, tmp_path):
    unpacked(tmp_path / "elsewhere", {"lra_release/lra_release/tsv_data/x.tsv": b""})
    manifest, _ = prepare("pathfinder", "source=auto")
    assert manifest["origin"] == "generated"
    unpacked(tmp_path / "elsewhere", {name.removeprefix("lra_release/"): text for name, text in release().items()})
    manifest, _ = prepare("pathfinder", "source=auto", "verify=false", "force=true")
    assert manifest["origin"] == "stand-in"


def test_the_split_of_s4_is_torchs_random_split_with_seed_42():
    parts = torch.utils.data.random_split(range(103), [83, 10, 10], generator=torch.Generator().manual_seed(42))
    ours = split_numbers(103, "seed42", 0)
    assert [sorted(part.indices) for part in parts] == [part.tolist() for part in ours.values()]


def test_a_permutation_leaves_nothing_out_and_names_nothing_twice():
    parts = split_numbers(200, "permutation", 0)
    assert [len(part) for part in parts.values()] == [160, 20, 20]
    assert np.array_equal(np.sort(np.concatenate(list(parts.values()))), np.arange(200))
    assert not np.array_equal(parts["test"], split_numbers(200, "permutation", 1)["test"])


META = f"{HARD}/metadata/2.npy"


@pytest.mark.slow
@pytest.mark.parametrize(
    "damage, line",
    [
        ({f"{HARD}/imgs/2/sample_3.png": png(1, side=30)}, "imgs/2/sample_3.png is 30 × 30 pixels, not 32 × 32"),
        ({f"{HARD}/imgs/2/sample_3.png": b"GIF89a..."}, "imgs/2/sample_3.png is a GIF image"),
        (
            {META: b"imgs/2 sample_0.png 0 2 1.0"},
            "metadata/2.npy, line 1: 'imgs/2 sample_0.png 0 2 1.0' has no label 0 or 1",
        ),
        ({META: b"imgs/2 sample_99.png 0 1 1.0"}, "line 1: imgs/2/sample_99.png is not there"),
    ],
)
def test_what_is_wrong_is_named(prepare, tmp_path, damage, line):
    source = write_tar(tmp_path / "x.gz", {**release(), **damage})
    assert line in prepare("pathfinder", f"source={source}", "verify=false")


@pytest.mark.slow
def test_wrong_words_are_refused(prepare, tmp_path):
    source = write_tar(tmp_path / "x.gz", release())
    assert "permutation, seed42" in prepare("pathfinder", "task.split=seed43")
    assert "task.difficulty=harder " in prepare("pathfinder", "task.difficulty=harder")
    assert "has no pathfinder32/curv_baseline/metadata/0.npy" in prepare(
        "pathfinder", f"source={source}", "task.difficulty=easy", "verify=false"
    )
    assert "cannot have images of 16 × 16 pixels" in prepare("pathfinder", f"source={source}", size="short")
    assert "no room in 16 × 16" in prepare("pathfinder", "task.sizes.short.difficulty=hard", size="short")
    filled = {name: content or png(5) for name, content in release().items()}
    source = write_tar(tmp_path / "y.gz", filled)
    assert "30 all examples, the benchmark 200,000" in prepare("pathfinder", f"source={source}")


@pytest.mark.slow
def test_path_x_takes_the_larger_images(prepare, tmp_path):
    files = {name.replace("pathfinder32", "pathfinder128"): content for name, content in release().items()}
    files = {
        name: png(k % 200, side=128) if name.endswith("png") else raw for k, (name, raw) in enumerate(files.items())
    }
    source = write_tar(tmp_path / "x.gz", files)
    _, splits = prepare("pathx", f"source={source}", "verify=false", size="full")
    assert len(splits["train"].example(0)[0][0]) == 128 * 128
