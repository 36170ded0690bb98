"""A folder is made whole, or not at all; an old one is lost to no error and no kill."""

import os

import pytest

from lra.base.files import making_folder, replace_text, replaced_folder, replacing, restore_folder, unfinished_folder


def names(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def fill(folder, *, replace):
    with making_folder(folder, replace=replace) as unfinished:
        (unfinished / "new").write_text("whole")


def leave(*folders):
    """Make folders as a killed process leaves them."""
    for left in folders:
        left.mkdir(parents=True)
        (left / "old").write_text("")


@pytest.mark.parametrize("replace", [True, False])
def test_a_folder_appears_whole_and_what_a_kill_has_left_is_cleared(tmp_path, replace):
    folder = tmp_path / "a" / "folder"
    leave(unfinished_folder(folder))
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


def test_an_old_folder_is_moved_back_when_the_new_one_cannot_take_its_place(tmp_path, monkeypatch):
    folder = tmp_path / "folder"
    leave(folder)

    def fail(source, target):
        assert names(tmp_path) == [
            ".folder.replaced",
            ".folder.replaced/old",
            ".folder.unfinished",
            ".folder.unfinished/new",
        ]
        raise OSError("no space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="no space left"):
        fill(folder, replace=True)
    assert names(tmp_path) == ["folder", "folder/old"]


def test_an_old_folder_that_a_kill_left_between_two_renames_is_restored(tmp_path):
    folder = tmp_path / "folder"
    leave(unfinished_folder(folder), replaced_folder(folder))
    with making_folder(folder, replace=True):
        assert names(tmp_path) == [".folder.unfinished", "folder", "folder/old"]
    leave(replaced_folder(tmp_path / "other"))
    restore_folder(tmp_path / "other")
    assert names(tmp_path) == ["folder", "other", "other/old"]


def test_an_old_folder_that_a_kill_left_after_both_renames_is_deleted(tmp_path):
    folder = tmp_path / "folder"
    leave(folder, replaced_folder(folder))
    fill(folder, replace=True)
    assert names(tmp_path) == ["folder", "folder/new"]


def test_writers_of_one_file_do_not_meet_and_what_a_kill_left_goes_after_an_hour(tmp_path):
    path = tmp_path / "figure[1].png"
    with replacing(path, shared=True) as first, replacing(path, shared=True) as second:
        first.write_text("first")
        second.write_text("second")
    assert path.read_text() == "first"
    old, new = tmp_path / "figure[1].png.00000000.unfinished", tmp_path / "figure[1].png.11111111.unfinished"
    for leftover in (old, new):
        leftover.write_text("half")
    os.utime(old, (0, 0))
    replace_text(path, "third", shared=True)
    assert (path.read_text(), old.exists(), new.exists()) == ("third", False, True)
