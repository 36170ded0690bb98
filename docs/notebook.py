"""The notebook of the documents: run it and store its outputs (`make renew`), show it as a page of the site."""

import ast
import base64
import contextlib
import io
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NOTEBOOK = Path(__file__).parent / "examples/notebook.ipynb"
HOME = "/home/you/lra"  # stands in the outputs in place of the scratch folder in which the notebook was run


def run(notebook: dict[str, Any], names: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Any, str]]:
    """Run the cells of code in order; give each with the value of its last line, and with what it printed."""
    for cell in notebook["cells"]:
        if cell["cell_type"] != "code":
            continue
        tree = ast.parse("".join(cell["source"]))
        last = tree.body[-1]
        shown = ast.Expression(last.value) if isinstance(last, ast.Expr) else None
        del tree.body[len(tree.body) - (shown is not None) :]
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(tree, NOTEBOOK.name, "exec"), names)
            value = None if shown is None else eval(compile(shown, NOTEBOOK.name, "eval"), names)
        yield cell, value, printed.getvalue()


def outputs(count: int, value: Any, printed: str) -> list[dict[str, Any]]:
    """The outputs of the cell that was run as number `count`, in the notebook's format."""
    made: list[dict[str, Any]] = []
    if printed:
        made.append({"name": "stdout", "output_type": "stream", "text": printed.splitlines(keepends=True)})
    if hasattr(value, "savefig"):
        picture = io.BytesIO()
        value.savefig(picture, format="png", dpi=80, metadata={"Software": None})
        data: dict[str, Any] = {"image/png": base64.b64encode(picture.getvalue()).decode()}
        made.append({"data": data, "metadata": {}, "output_type": "display_data"})
    elif value is not None:
        data = {"text/plain": str(value).splitlines(keepends=True)}
        made.append({"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"})
    return made


def as_markdown(text: str) -> str:
    """Write a notebook as Markdown, code and outputs in blocks, pictures within the page."""
    return "\n\n".join(part for cell in json.loads(text)["cells"] for part in _parts(cell))


def _parts(cell: dict[str, Any]) -> list[str]:
    source = "".join(cell["source"])
    if cell["cell_type"] == "markdown":
        return [source]
    return [_block(source, "python"), *map(_shown, cell["outputs"])]


def _shown(output: dict[str, Any]) -> str:
    data = output.get("data", {"text/plain": output.get("text", "")})
    if "image/png" in data:
        return f"![output](data:image/png;base64,{data['image/png']})"
    return _block("".join(data["text/plain"]).rstrip(), "text")


def _block(text: str, language: str) -> str:
    return f"```{language}\n{text}\n```"


def main() -> None:
    """Run the notebook in a scratch folder, and store the outputs in it."""
    notebook = json.loads(NOTEBOOK.read_text())
    with tempfile.TemporaryDirectory() as scratch, contextlib.chdir(scratch):
        os.environ |= {"LRA_DATA_DIR": f"{scratch}/data", "LRA_RUNS_DIR": f"{scratch}/runs", "MPLBACKEND": "agg"}
        for count, (cell, value, printed) in enumerate(run(notebook, {}), 1):
            stored = outputs(count, value, printed.replace(scratch, HOME))
            cell |= {"execution_count": count, "outputs": stored}
    NOTEBOOK.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
