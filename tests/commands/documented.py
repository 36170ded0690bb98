"""Every `lra …` that a document, a `--help`, a file of settings or an error's hint shows."""

import ast
import re
from collections.abc import Iterator
from functools import cache

from lra.base.verb_files import verb_module
from lra.cli import VERBS, usage
from tests.house.test_floors import FILES, ROOT

DOCUMENTS = (
    *("README.md", "CONTRIBUTING.md", "data_prep/README.md"),
    *sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs").glob("*.md")),
)
OWN_PACKAGE = re.compile(r"=(window|averaging|majority)\b")  # of docs/examples: tests/test_own_package.py types these
SHOWN = "model|protocol|data|runs|tasks|attentions|mine"
WORD = (
    r"(?:-m|--[\w-]+(?: job| FOLDER)?|[a-z_./]+=[^\s`'\"]+"
    rf"|plan|run|show|step|attention|mixer|task|{SHOWN}|landmarks|window|capacity|/\S+|…)"
)
AMONG_WORDS = re.compile(rf"\blra (?:{'|'.join(VERBS)})(?![\w-])(?: {WORD}(?!\w))*(?!:)")


@cache
def documented_commands() -> dict[str, str]:
    """Each command line with the first place that shows it."""
    places: dict[str, str] = {}
    for place, command in _typed():
        places.setdefault(command, place)
    for place, text in _prose():
        for command in AMONG_WORDS.findall(text):
            places.setdefault(command.rstrip(".,;:)"), place)
    return places


def _typed() -> Iterator[tuple[str, str]]:
    """Lines and quotations that are nothing but a command, and a remark after two blanks or a #."""
    for name in DOCUMENTS:
        text = (ROOT / name).read_text()
        yield from ((name, " ".join(quoted.split())) for quoted in re.findall(r"(?<!`)`(lra [^`]+)`", text))
        yield from ((name, command) for command in _lines(text))
    for verb in VERBS:
        text = verb_module(verb).__doc__ or ""
        yield from ((f"lra {verb} --help", command) for command in _lines(text.split("\n", 1)[1]))


def _lines(text: str) -> list[str]:
    return [re.split(r"\s{2,}|\s+#", line)[0] for line in re.findall(r"^ *(lra .*)", text, re.MULTILINE)]


def _prose() -> Iterator[tuple[str, str]]:
    """Texts in which a command stands among other words."""
    yield "lra --help", usage()
    for path in sorted((ROOT / "conf").rglob("*.yaml")):
        yield path.name, path.read_text()
    for path in FILES:
        if "lra " in (source := path.read_text()):
            yield from ((path.name, text) for text in _printed(ast.parse(source)))


def _printed(tree: ast.Module) -> Iterator[str]:
    """The texts of a module that are no docstrings; what is filled in is …"""
    documented = ast.Module | ast.ClassDef | ast.FunctionDef
    nodes = list(ast.walk(tree))
    bodies = [node.body for node in nodes if isinstance(node, documented)]
    left_out = {id(body[0].value) for body in bodies if body and isinstance(body[0], ast.Expr)}
    left_out |= {id(piece) for node in nodes if isinstance(node, ast.JoinedStr) for piece in node.values}
    for node in nodes:
        if isinstance(node, ast.JoinedStr):
            yield "".join(str(piece.value) if isinstance(piece, ast.Constant) else "…" for piece in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in left_out:
            yield node.value
