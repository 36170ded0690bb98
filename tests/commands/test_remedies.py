"""What a mistake is told to type can be typed: a shell passes it on as it was meant, and it gets further."""

import shlex

import pytest
import yaml

from lra.settings.check_overrides import check_overrides
from tests.commands.errors import read_errors
from tests.commands.remedies import printed_commands, printed_overrides, typed_again, typed_in_a_shell
from tests.conftest import lra_here

OVER_RUNS = ("table", "compare", "tune", "sweep")  # verbs without --cfg
NOT_COMPOSED = ("new", "import")  # verbs whose words are no overrides
ODD_TEXTS = (
    "it's (new)",
    'say "hi" (now)',
    "a, b",
    "a,b",
    "[a] b",
    "x{y}",
    "$HOME/x",
    "`ls`",
    "a;b",
    "a & b",
    "it's",
    "a=b",
)
ODD_TEXTS += (
    "two words",
    "back\\slash (x)",
    "(",
    "#1",
    "*",
    "'quoted' (x)",
    "ends (x)\\",
    "!x",
    "{a:b}",
    "[x",
    "a:(b)",
)


def all_rows() -> list[dict]:
    return [row for rows in read_errors().values() for row in rows]


def test_a_shell_passes_each_printed_command_on():
    printed = [each for row in all_rows() for each in (*printed_commands(row["says"]), *printed_overrides(row["says"]))]
    assert len(printed) > 300
    assert typed_in_a_shell([each.text for each in printed]) == [each.words for each in printed]


def with_overrides() -> list:
    rows = [(row["type"], each.words[0]) for row in all_rows() for each in printed_overrides(row["says"])]
    return [pytest.param(*row, id=" ".join(row)) for row in rows if row[0].split()[1] not in NOT_COMPOSED]


@pytest.mark.some_fast(30)
@pytest.mark.some_in_ci(120)
@pytest.mark.parametrize(("mistake", "remedy"), with_overrides())
def test_an_override_that_a_mistake_is_told_to_type_gets_further(mistake, remedy, tmp_path):
    says = next(row["says"] for row in all_rows() if row["type"] == mistake)
    words = typed_again(shlex.split(mistake)[1:], says, remedy)
    if words[0] in OVER_RUNS:  # `show` checks the same words, and runs nothing
        swept = [word for word in words[1:2] if word in ("landmarks", "window")]
        others = [word for word in words[1:] if word not in (*swept, "plan", "run", "show")]
        words = [words[0], *swept, "show", *others]
    elif "-m" in words or any(word.startswith("sweep=") for word in words):
        check_overrides(words[0], [word for word in words[1:] if word != "-m"], sweep=True)
        return
    elif "--cfg" not in words:
        words += ["--cfg", "job"]
    done = lra_here(*words, data=tmp_path, runs=tmp_path / "runs")
    assert says not in done.stderr
    if "; leave " not in done.stderr:  # of several methods some lack the option, and the line says which to leave out
        assert f"unknown option {remedy.partition('=')[0]}" not in done.stderr


@pytest.mark.some_fast(20)
@pytest.mark.parametrize("key", ["run_group", "source", "paths.runs"])
@pytest.mark.parametrize("text", ODD_TEXTS)
def test_a_text_with_odd_letters_arrives_at_last_as_it_was_typed(key, text, tmp_path):
    words = ["train", "size=tiny", f"{key}={text}"]
    done = lra_here(*words, "--cfg", "job", data=tmp_path, runs=tmp_path / "runs")
    if done.returncode:
        commands = [each.text for each in printed_commands(done.stderr) if "-m" not in each.words]
        overrides = [shlex.join(words[:2]) + " " + each.text for each in printed_overrides(done.stderr)]
        (words,) = typed_in_a_shell(commands or overrides)
        done = lra_here(*words, "--cfg", "job", data=tmp_path, runs=tmp_path / "runs")
    assert done.returncode == 0, done.stderr
    value = yaml.safe_load(done.stdout)
    for name in key.split("."):
        value = value[name]
    assert (value, words[:2]) == (text, ["train", "size=tiny"])


@pytest.mark.parametrize(
    "words", [["seed=0,1", "size=tiny"], ["size=tiny", "attention=full,nystrom", "paths.runs=a b"]]
)
def test_several_values_are_told_to_be_several_runs_with_all_that_was_typed(words, tmp_path):
    done = lra_here("train", *words, data=tmp_path, runs=tmp_path / "runs")
    (verb, flag, *typed), *_ = typed_in_a_shell([each.text for each in printed_commands(done.stderr)])
    assert (verb, flag, typed) == ("train", "-m", words)
    assert check_overrides("train", typed, sweep=True) == tuple(typed)
