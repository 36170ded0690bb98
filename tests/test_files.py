"""A folder is made whole, or not at all."""

from __future__ import annotations

import pytest

from lra.files import making_folder, replaced_folder, unfinished_folder


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def fill(folder, *, replace):
    with making_folder(folder, replace=replace) as unfinished:
        (unfinished / "new").write_text("whole")


@pytest.mark.parametrize("replace", [True, False])
def test_a_folder_appears_whole_and_what_a_kill_has_left_is_cleared(tmp_path, replace):
    folder = tmp_path / "a" / "folder"
    for left in (unfinished_folder(folder), *([replaced_folder(folder)] if replace else [])):
        left.mkdir(parents=True)
        (left / "half").write_text("")
    with making_folder(folder, replace=replace) as unfinished:
        (unfinished / "new").write_text("whole")
        assert not folder.exists()
    assert names(tmp_path) == ["a", "a/folder", "a/folder/new"]


def test_an_old_folder_is_replaced_only_where_that_is_asked_for(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    fill(folder, replace=False)  # an empty one is no hindrance
    (folder / "old").write_text("")
    with pytest.raises(OSError, match="not empty"):
        fill(folder, replace=False)
    assert names(tmp_path) == ["folder", "folder/new", "folder/old"]
    fill(folder, replace=True)
    assert names(tmp_path) == ["folder", "folder/new"]


def test_after_an_error_the_old_folder_is_as_it_was(tmp_path):
    folder = tmp_path / "folder"
    fill(folder, replace=True)
    with pytest.raises(OSError, match="not empty"), making_folder(folder, replace=True) as unfinished:
        unfinished.parent.rmdir()
    assert names(tmp_path) == ["folder", "folder/new"]
