"""A printed command with a value in it is written by `lra.base.printed_commands`, which quotes it, not by f-strings."""

import ast
import re

from lra.cli import VERBS
from tests.conftest import ROOT

# The end of a text in front of a value: a command has begun, and nothing since has ended it.
OPEN_COMMAND = re.compile(rf"(\blra ({'|'.join(VERBS)})\b|\bwandb sync\b|\bchmod\b|\bpip install\b|\bmv )[^;:(]*$")
OF_A_NAME = {"verb", "command", "what", "name", "which"}  # a verb, or a name that is checked to be a word


def open_values(source: str) -> list[str]:
    """The values in f-strings that stand within a command."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.JoinedStr):
            continue
        before = ""
        for part in node.values:
            if isinstance(part, ast.Constant):
                before += str(part.value)
                continue
            assert isinstance(part, ast.FormattedValue)
            if OPEN_COMMAND.search(before) and ast.unparse(part.value).split(".")[-1] not in OF_A_NAME:
                found.append(ast.unparse(node))
            before += "…"
    return found


def test_a_value_within_a_command_is_found():
    assert open_values('f"type: lra prepare task={task}"')
    assert open_values('f"later: wandb sync {folder}/offline"')
    assert not open_values('f"lra show runs lists them; {count} are here"')
    assert not open_values("f\"type: {command('prepare', override('task', task))}\"")


def test_no_value_stands_raw_within_a_printed_command():
    files = [path for room in ("lra", "data_prep") for path in sorted((ROOT / room).rglob("*.py"))]
    raw = {str(path.relative_to(ROOT)): open_values(path.read_text("utf-8")) for path in files}
    assert {place: values for place, values in raw.items() if values} == {}
