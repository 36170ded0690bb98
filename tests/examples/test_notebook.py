"""The notebook runs in order, what it ends with is what the run's record says, and it is stored with such outputs."""

import json

import matplotlib
import pytest

from docs.notebook import HOME, NOTEBOOK, as_markdown, outputs, run
from tests.renew import stale

STORED = json.loads(NOTEBOOK.read_text())
CODE = [cell for cell in STORED["cells"] if cell["cell_type"] == "code"]


@pytest.mark.slow
def test_the_cells_run_in_order(home):
    matplotlib.use("agg")
    names: dict[str, object] = {}
    made = {cell["id"]: (value, printed) for cell, value, printed in run(STORED, names)}
    values = {cell: value for cell, (value, _) in made.items()}
    (record,) = [json.loads(path.read_text()) for path in home.rglob("result.json")]
    assert values["compose"].name == "nystrom"
    assert values["model"] == (8, 10)
    assert f"{record['cost']['parameters']:,} parameters" in made["model"][1]
    assert names["trainer"].global_step == 20
    assert 0 < values["train"] < 1
    assert values["run"] == (record["outcome"]["test_accuracy"], record["outcome"]["majority_rate"])
    assert values["records"].loc["outcome.test_accuracy"].tolist() == [record["outcome"]["test_accuracy"]]
    assert len(names["axes"].lines) == 2
    for count, cell in enumerate(CODE, 1):
        fresh = [output["output_type"] for output in outputs(count, *made[cell["id"]])]
        assert fresh == [output["output_type"] for output in cell["outputs"]], f"{cell['id']}: {stale('notebook')}"
    assert made["model"][1] == "".join(CODE[2]["outputs"][0]["text"])


def test_the_notebook_is_stored_with_its_outputs():
    assert [cell["id"] for cell in CODE] == ["compose", "data", "model", "train", "run", "records", "plot"]
    assert [cell["execution_count"] for cell in CODE] == list(range(1, len(CODE) + 1))
    assert all(cell["outputs"] for cell in CODE)
    assert HOME in NOTEBOOK.read_text()
    assert "image/png" in CODE[-1]["outputs"][0]["data"]


def test_its_page_shows_code_outputs_and_the_picture():
    page = as_markdown(NOTEBOOK.read_text())
    assert page.startswith("# lra in a notebook")
    assert page.count("```python\n") == len(CODE)
    assert "```text\ntorch.Size" in page
    assert page.count("](data:image/png;base64,") == 1
