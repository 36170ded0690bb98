"""What is printed to be typed arrives in a shell as it was meant, with names that need quotes; nothing gets lost."""

import json
import subprocess
import sys

import pytest

from lra.base.printed_commands import override
from lra.cli import main
from tests.commands.test_show_partly import lay
from tests.tables.records import make_record
from tests.test_find_run import make

ODD = ("it's (new)", 'say "hi"', "a, b", "$HOME [1]")
ECHO = "import json, sys; print(json.dumps(sys.argv[1:]))"


def arrives(printed: str) -> list[str]:
    """The words that `lra` gets when a shell runs what was printed."""
    shell = f"lra() {{ '{sys.executable}' -c '{ECHO}' \"$@\"; }}\n{printed}"
    return json.loads(subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, check=True).stdout)


def refusal_of(refused, *words: str) -> list[list[str]]:
    """The words of each command that the line of an error offers."""
    error = refused(*words)
    right = [error.right] if isinstance(error.right, str) else error.right
    assert all(command in str(error) for command in right)
    return [arrives(command) for command in right]


def printed_by(capsys, *words: str) -> str:
    assert main(list(words)) == 0
    return capsys.readouterr().out


@pytest.fixture(params=ODD)
def odd(request):
    return request.param


@pytest.fixture
def group(home, odd):
    """The override that names a run group with a record of size=short, whose name needs quotes."""
    lay(home, odd, [make_record(size="short")])
    return override("run_group", odd)


def test_what_a_group_has_of_another_size(home, odd, group, capsys):
    typed = ("compare", "show", group, "task=listops", "notes=all")
    command = next(line for line in printed_by(capsys, *typed).splitlines() if line.startswith("    lra "))
    assert arrives(command) == [*typed, "size=short", "protocol=paper"]
    assert main(arrives(command)) == 0
    lay(home, f"{odd}/more", [make_record(size="full")])
    left_out = printed_by(capsys, *arrives(command)).partition("left out: 1 of size=full protocol=paper: ")[2]
    assert arrives(left_out.splitlines()[0]) == [*typed, "size=full", "protocol=paper"]


def test_the_groups_that_have_records(odd, group, refused):
    for words in (["report"], ["publish", "run_group=nothing", "name=mine"], ["show", "runs", "run_group=nothing"]):
        kept = [word for word in words if not word.startswith("run_group=")]
        right = refusal_of(refused, *words, "paths.data=/x")[0]
        assert sorted(right) == sorted([*kept, "paths.data=/x", group])
    for verb in (["table"], ["sweep", "window"]):
        assert refusal_of(refused, *verb, "show", "run_group=nothing", "seed=0")[0] == [*verb, "show", group, "seed=0"]


def test_each_action_in_place_of_a_wrong_one(group, refused):
    for verb in (["table"], ["sweep", "landmarks"]):
        right = refusal_of(refused, *verb, "shwo", group, "seed=0")
        assert right == [[*verb, action, group, "seed=0"] for action in ("plan", "run", "show")]


def test_each_of_several_sizes(group, refused):
    right = refusal_of(refused, "table", "show", group, "size=short,tiny")
    assert right == [["table", "show", group, size] for size in ("size=short", "size=tiny")]


def test_a_file_of_records_that_was_to_be_run(home, odd, refused):
    (home / f"{odd}.jsonl").parent.mkdir(parents=True, exist_ok=True)
    (home / f"{odd}.jsonl").write_text(json.dumps(make_record()) + "\n")
    words = ("compare", "plan", "attention=full", "size=tiny", override("run_group", f"{odd}.jsonl"))
    shows, runs = refusal_of(refused, *words)
    assert (shows, runs) == (["compare", "show", *words[2:]], ["compare", "plan", *words[2:-1]])
    assert main(shows) == 0


def test_the_command_that_makes_the_first_record(home, odd, capsys):
    (home / odd).mkdir(parents=True)
    typed = (override("run_group", odd), "task=text", "seed=0")
    (note,) = (line for line in printed_by(capsys, "compare", "show", *typed).splitlines() if "lra compare" in line)
    command = note.partition(": ")[2].removesuffix(" makes them.")
    assert arrives(command) == ["compare", "run", *typed]


def test_a_group_whose_name_has_a_comma_is_one(group, capsys):
    assert "listops: nystrom" in printed_by(capsys, "table", "show", group)


def test_records_of_a_changed_checkout(home, odd, refused):
    record = make_record()
    record["provenance"]["git_commit"] = "0" * 40 + "-dirty"
    lay(home, odd, [record])
    words = ("publish", override("run_group", odd), "name=mine")
    assert refusal_of(refused, *words) == [[*words, "dirty=true"]]


def test_a_place_that_is_taken(home, odd, refused, tmp_path):
    (tmp_path / odd).touch()
    words = ("export", "run=a1b9200f", "seed=0")
    right = refusal_of(refused, *words, override("to", tmp_path / odd))
    assert right == [[*words, override("to", tmp_path / f"{odd}-2")]]
    assert refused(*right[0]).key == "run", "it got further"


def offered(line: str) -> list[list[str]]:
    """The words of each command that the end of an error's line offers."""
    commands = line.partition("lra ")[2].split(", lra ")
    return [arrives(f"lra {command}") for command in commands]


def test_a_run_of_one_of_two_groups(home, odd, refused):
    make(home, "a1b9200f", group=odd), make(home, "a1b9200f")
    error = refused("export", "run=a1b9200f", "to=model")
    runs = [override("run", f"{odd}/a1b9200f"), "run=default/a1b9200f"]
    assert sorted(offered(str(error))) == sorted(["export", run, "to=model", "seed=0"] for run in runs)
    assert all(refused("export", "to=model", run, "seed=0").kind == "missing_file" for run in runs), "no best.ckpt"


def test_a_seed_beside_a_folder_or_of_no_run_is_left_out(home, refused):
    folders = [make(home, "a1b9200f", task=task) for task in ("listops", "text")]
    error = refused("export", "run=a1b9200f", "seed=7", "to=model")
    assert offered(str(error)) == [["export", f"run={folder}", "to=model"] for folder in folders]
    error = refused("export", f"run={folders[0]}", "seed=0", "to=model")
    assert offered(str(error)) == [["export", f"run={folders[0]}", "to=model"]]
