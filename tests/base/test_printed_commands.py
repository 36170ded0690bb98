"""What is printed to be typed arrives as it was meant: through a real shell, Hydra's grammar and OmegaConf."""

import shlex
import subprocess
import sys

import pytest
from omegaconf import OmegaConf

from lra.base.printed_commands import command, override, typed_arguments, typed_command, typed_overrides
from lra.settings.read_override import read_override

TEXTS = (
    *("plain", "a/b.csv", "runs/2024-01-02", "two words", " padded ", "it's (new)", 'say "hi" (now)', "a, b", "a,b"),
    *(
        "$HOME",
        "${x}",
        "\\${x}",
        "\\\\${x}",
        "`ls`",
        "$(ls)",
        "[1,2]",
        "{a: b}",
        "a=b",
        "a:b",
        ":a",
        "a;b",
        "a&b",
        "a#b",
    ),
    *("\\", "a\\", "\\'", "a\\\\'b", "a\\\n", "\\,", "'", "''", '"', "~", "~/x", "*", "?", "!", "|", "-x", "--x", "+1"),
    *(
        "3",
        "1e3",
        "1_000",
        "-.5",
        "nan",
        "-inf",
        "true",
        "null",
        "None",
        "",
        "é",
        "a\nb",
        "\t",
        "interval(1, 2)",
        "str(3)",
    ),
)
ECHO = "import sys; print(ascii(sys.argv[1:]))"


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_arrives_as_it_is(text):
    typed = read_override(override("key", text))
    cfg = OmegaConf.create({"key": None})
    OmegaConf.update(cfg, "key", typed.value())
    assert (typed.is_sweep_override(), cfg.key) == (False, text)


@pytest.mark.parametrize("value", [3, 0.1, 1e-05, True, False, None])
def test_a_value_that_is_no_text_arrives_with_its_type(value):
    typed = read_override(override("key", value)).value()
    assert (typed, type(typed)) == (value, type(value))


def test_a_shell_reads_each_word_of_a_command_back():
    words = [override("key", text) for text in TEXTS]
    printed = command("sweep landmarks run", *words)
    shell = f"lra() {{ '{sys.executable}' -c '{ECHO}' \"$@\"; }}\n{printed}"
    said = subprocess.run(["/bin/sh", "-c", shell], capture_output=True, text=True, check=True).stdout
    assert said.strip() == ascii(["sweep", "landmarks", "run", *words])


def test_the_typed_command_keeps_what_is_not_changed():
    with typed_arguments(["prepare", "task=text", "+verify=false", override("source", "my data")]):
        again = shlex.split(typed_command("train", "verify=true", "force=true"))
        assert again == ["lra", "prepare", "task=text", "verify=true", "source='my data'", "force=true"]
        assert typed_overrides("verify", "source") == ("+verify=false", "source='my data'")
    assert typed_command("train", "seed=1") == "lra train seed=1"
