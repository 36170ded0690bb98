"""The notebook as a page of the docs site: its cells with the outputs that are stored in it."""

from __future__ import annotations

import json
from typing import Any


def as_markdown(text: str) -> str:
    """Write a notebook as Markdown, code and outputs in blocks, pictures within the page."""
    return "\n\n".join(part for cell in json.loads(text)["cells"] for part in _parts(cell))


def _parts(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    return [_block(source, "python"), *(_output(output) for output in cell["outputs"])]


def _output(output: dict[str, Any]) -> str:
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "image/png" in data:
        return f"![output](data:image/png;base64,{''.join(data['image/png'].split())})"
    return _block("".join(data["text/plain"]).rstrip(), "text")


def _block(text: str, language: str) -> str:
    return f"```{language}\n{text}\n```"
