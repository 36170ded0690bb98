"""Find the commands and overrides in a printed line, and type the command of a mistake once more with a remedy."""

import re
import shlex
import subprocess
from itertools import pairwise
from typing import NamedTuple

from lra.cli import VERBS

VERB = re.compile(rf"(?<![\w/.(-])lra (?=({'|'.join(VERBS)})\b)")
OVERRIDE = re.compile(r"(?:type|did you mean|as in|takes? back|choose)(?: for example)?:? (?=[\"']?[+~]?[\w.]+=)")
WORD = re.compile(r"""\s*((?:[^\s"'\\]|\\.|"(?:[^"\\]|\\.)*"|'[^']*')+)""")
FILLED_IN = re.compile(r"VALUE|NAME|CLASS|FOLDER|NUMBER|…")
ABOUT = re.compile(r"(?:unknown option )?[+~]?([\w.-]+)")  # the first option in a line
ENDS = ",;?"  # of a command within a sentence
WORDS = ("run", "plan", "show", "step", "attention", "mixer", "task", "model", "data", "protocol", "runs", "tasks")
WORDS += ("attentions", "landmarks", "window", "mine", "job")


class Printed(NamedTuple):
    """A command, or an override, in a printed line.

    Attributes:
        text: as it is printed.
        words: what a shell is meant to make of it, without `lra`.
    """

    text: str
    words: list[str]


def printed_commands(line: str) -> list[Printed]:
    """The commands of lra in a printed line."""
    found = (_printed(line[match.end() :]) for match in VERB.finditer(line))
    return [printed for printed in found if printed.words]


def printed_overrides(line: str) -> list[Printed]:
    """The overrides that a printed line says to type; without those of which a part is to be filled in."""
    found = (_printed(line[match.end() :]) for match in OVERRIDE.finditer(line))
    return [printed for printed in found if printed.words and not FILLED_IN.search(printed.text)]


def _printed(text: str) -> Printed:
    """The command at the beginning of a text: a verb or override, and what follows it, until prose goes on."""
    words: list[str] = []
    end = 0
    while match := WORD.match(text, end):
        bare = match[1].rstrip(ENDS)
        word = shlex.split(bare)[0] if bare else ""
        if words and not ("=" in word or word.startswith("-") or word in WORDS):
            break
        words.append(word)
        end = match.end()
        if bare != match[1]:
            end = match.start(1) + len(bare)
            break
    return Printed(text[:end], words)


def typed_in_a_shell(commands: list[str]) -> list[list[str]]:
    """Type commands in `/bin/sh`, with a function in the place of lra, and return the words that arrive."""
    script = "lra() { printf '%s\\0' \"$@\"; printf '\\1'; }\n" + "\n".join(f"lra {command}" for command in commands)
    done = subprocess.run(
        ["/bin/sh", "-c", script], capture_output=True, text=True, check=False, stdin=subprocess.DEVNULL
    )
    assert done.returncode == 0, done.stderr
    return [arrived.split("\0")[:-1] for arrived in done.stdout.split("\1")[:-1]]


def typed_again(typed: list[str], line: str, override: str) -> list[str]:
    """The words of a mistyped command with a remedy in the place of the override that the printed line is about."""
    about = ABOUT.match(line)
    keys = {override.lstrip("+~").partition("=")[0], *(about.groups() if about else ())}
    kept: list[str] = []
    for before, word in pairwise(["", *typed]):
        is_of_a_flag = word.startswith("--") or (before.startswith("--") and "=" not in word)
        if word.lstrip("+~").partition("=")[0] not in keys and not is_of_a_flag:
            kept.append(word)
    return [*kept, override]
