"""The card beside each store is Croissant 1.1 with the RAI fields, as `mlcroissant` checks it, and tells what is so."""

import json
import socket

import mlcroissant
import numpy as np
import pytest

from data_prep.card import FIELDS, described
from lra.base.files import sha256
from lra.base.paths import conf_names
from lra.cli import main
from lra.data.manifest import read_manifest

# What the datasets track of NeurIPS 2026 asks for.
ASKED_FOR = {
    *("rai:dataLimitations", "rai:dataBiases", "rai:personalSensitiveInformation", "rai:dataUseCases"),
    *("rai:dataSocialImpact", "rai:hasSyntheticData", "prov:wasDerivedFrom", "prov:wasGeneratedBy"),
}


@pytest.fixture
def store(tmp_path, monkeypatch):
    """Prepare a task at size=tiny, without a network from then on: gives the store's folder."""
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def prepared(task: str, *words: str):
        assert main(["prepare", f"task={task}", "size=tiny", *words]) == 0
        monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a network is used"))
        return tmp_path / "data/stores" / task / "tiny"

    return prepared


@pytest.mark.parametrize("task", ["listops", "text", "image", "retrieval"])
def test_the_card_is_valid_and_tells_what_the_manifest_tells(store, task):
    folder = store(task)
    dataset = mlcroissant.Dataset(folder / "croissant.json")
    issues, metadata = dataset.metadata.ctx.issues, dataset.metadata
    assert (set(issues.errors), set(issues.warnings)) == (set(), set())
    assert metadata.ctx.conforms_to.value == "http://mlcommons.org/croissant/1.1"
    manifest, card = read_manifest(folder), json.loads((folder / "croissant.json").read_text())
    counts = {row["splits/split"]: row["splits/examples"] for row in dataset.records("splits")}
    assert counts == {name: facts["count"] for name, facts in manifest["splits"].items()}
    labels = {
        (row["labels/split"], str(row["labels/label"])): row["labels/examples"] for row in dataset.records("labels")
    }
    splits = manifest["splits"].items()
    assert labels == {(name, label): n for name, facts in splits for label, n in facts["label_counts"].items()}
    files = {file.content_url: file.sha256 for file in metadata.file_objects}
    assert files.keys() == {path.name for path in folder.iterdir()} - {"croissant.json"}
    assert files == {name: sha256(folder / name) for name in files}
    assert card.keys() >= ASKED_FOR
    assert metadata.name == f"lra_{task}_tiny"
    assert card["rai:hasSyntheticData"] is True, "generated, or placeholder data"
    assert str(folder.parent) not in json.dumps(card), "where it is, is not told"


@pytest.mark.parametrize("task", conf_names("task"))
def test_every_task_tells_what_no_manifest_tells(task):
    told = described(task)
    assert {*FIELDS.values()} - {"url", "citeAs", "rai:hasSyntheticData"} <= told.keys()
    assert all(told.values())


def test_a_card_of_own_data_has_what_its_file_says_and_does_not_cite_the_benchmark(
    store, tmp_path, monkeypatch, refused
):
    np.savez(tmp_path / "my.npz", tokens=np.ones((40, 3), int), labels=np.arange(40) % 2)
    assert main(["new", "task", "mine", "source=my.npz"]) == 0
    file = tmp_path / "mine/mine/conf/task/mine.yaml"
    monkeypatch.setenv("LRA_CONF_PATH", str(file.parents[1]))
    text = file.read_text()
    file.write_text(text + "card: {limitations: few rows, creator: me, published: 2026-01-31}\nterms: CC0-1.0\n")
    folder = store("mine")
    metadata = mlcroissant.Dataset(folder / "croissant.json").metadata
    assert not metadata.ctx.issues.errors
    assert metadata.data_limitations == ["few rows"]
    assert metadata.license == ["CC0-1.0"]
    assert (metadata.date_published.year, metadata.cite_as) == (2026, None)
    card = json.loads((folder / "croissant.json").read_text())
    assert card["rai:hasSyntheticData"] is False
    assert card["prov:wasDerivedFrom"] == f"my.npz, sha256 {sha256(tmp_path / 'my.npz')}"
    file.write_text(text + "card: {limits: few rows}\n")
    assert refused("prepare", "task=mine", "size=tiny", "force=true").key == "card"
    assert json.loads((folder / "croissant.json").read_text()) == card, "the store is as it was"
