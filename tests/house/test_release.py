"""What a release says of itself: one version and one licence, in every file that names them."""

import tomllib

import yaml

import lra
from lra.terminal.display_names import bibliography
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text("utf-8"))


def test_the_version_is_in_one_place_and_the_citation_has_it():
    assert "version" in PROJECT["project"]["dynamic"]
    assert PROJECT["tool"]["hatch"]["version"]["path"] == "lra/__init__.py"
    assert CITATION["version"] == lra.__version__


def test_the_citation_agrees_with_the_metadata():
    assert CITATION["license"] == PROJECT["project"]["license"]
    assert [author["name"] for author in CITATION["authors"]] == [
        author["name"] for author in PROJECT["project"]["authors"]
    ]


def test_the_papers_of_the_citation_are_those_of_the_bibliography():
    (paper,), (benchmark,) = bibliography({"xiong2021nystromformer"}), bibliography({"tay2021lra"})
    for entry, reference in zip((paper, benchmark), CITATION["references"], strict=True):
        assert reference["url"].removeprefix("https://arxiv.org/abs/") in entry
        assert all(author["family-names"] in entry for author in reference["authors"])
