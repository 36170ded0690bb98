"""Stores of the generator of before are refused, and the line says how to make them again."""

import pytest

from lra.data.manifest import MANIFEST


@pytest.mark.slow
@pytest.mark.parametrize("task", ["pathfinder", "pathx"])
@pytest.mark.exhaustive
def test_a_store_of_the_first_generator_is_refused(prepare, tmp_path, task):
    manifest, _ = prepare(task)
    assert manifest["builder"].endswith("/2.0.0")
    path = tmp_path / "data/stores" / task / "tiny" / MANIFEST
    path.write_text(path.read_text().replace("/2.0.0", "/1.0.0"))
    line = prepare(task)
    assert "was made with version=1.0.0, but version=2.0.0 is asked for" in line
    assert f"lra prepare task={task} size=tiny force=true" in line
    assert prepare(task, "force=true")[0]["arrays"] == manifest["arrays"]
