"""What a cell's process prints is kept in its folder, and its warnings are heard."""

from lra.base.processes import Child
from lra.runs.files import OUTPUT
from lra.tables.grid.run_output import RunOutput

PRINTS = (
    "import sys; print('step 1/2'); print('Warning: the memory is short'); sys.stdout.flush();"
    "print('/x.py:1: UserWarning: look', file=sys.stderr); print('lra: the end', file=sys.stderr)"
)


def run(folder):
    import sys

    with (
        RunOutput(folder, name="listops full seed 1", command="lra train") as output,
        Child((sys.executable, "-c", PRINTS), hear_output=output.hear_output, hear_error=output.hear_error) as child,
    ):
        assert child.wait(60) == 0
        return child.error()


def test_all_is_kept_and_warnings_are_heard_with_the_name_of_the_cell(tmp_path, capfd):
    assert run(tmp_path) == "the end", "the error line is not passed on: it belongs to the cell's own line"
    out, err = capfd.readouterr()
    assert out == ""
    assert sorted(err.splitlines()) == [
        "listops full seed 1: /x.py:1: UserWarning: look",
        "listops full seed 1: Warning: the memory is short",
    ]
    kept = (tmp_path / OUTPUT).read_text().splitlines()
    assert kept[0] == "$ lra train"
    assert {"step 1/2", "Warning: the memory is short", "/x.py:1: UserWarning: look", "lra: the end"} == set(kept[1:])


def test_another_attempt_is_added(tmp_path, capfd):
    run(tmp_path)
    run(tmp_path)
    assert (tmp_path / OUTPUT).read_text().count("$ lra train") == 2


def test_a_full_disk_ends_neither_the_run_nor_its_warnings(tmp_path, capfd):
    (tmp_path / OUTPUT).symlink_to("/dev/full")
    assert run(tmp_path) == "the end"
    lines = capfd.readouterr().err.splitlines()
    assert sum(OUTPUT in line and "No space" in line for line in lines) == 1
    assert any("the memory is short" in line for line in lines)


def test_control_characters_reach_no_terminal_and_passwords_no_file(tmp_path, capfd):
    with RunOutput(tmp_path, name="a", command="lra train x=https://me:secret@host/y") as output:
        output.hear_error("odd \x1b[2J")
    assert "\x1b" not in capfd.readouterr().err
    assert "secret" not in (tmp_path / OUTPUT).read_text()
