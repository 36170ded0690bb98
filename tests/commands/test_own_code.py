"""Code of the user's own, named by `_target_`: found wherever Python finds it, with knobs that are its own affair."""

import pytest

from lra.cli import main

CODE = """
from lra.attention.base import AttentionBackend

class Halved(AttentionBackend):
    def __init__(self, dims, *, features):
        super().__init__(dims)
        self.features = features

    def forward(self, q, k, v, valid):
        return self.features * v
"""
YAML = "name: mine\n_target_: {}\n_partial_: true\nfeatures: 0.5\n"


@pytest.fixture
def package(tmp_path, monkeypatch, home):
    """Writes a module of a name that no other test uses, and the file that names something in it."""

    def make(code: str, target: str) -> str:
        name = f"own_{tmp_path.name}"
        (tmp_path / "code").mkdir()
        (tmp_path / "code" / f"{name}.py").write_text(code)
        (tmp_path / "conf" / "attention").mkdir(parents=True)
        (tmp_path / "conf" / "attention" / "mine.yaml").write_text(YAML.format(target.replace("OWN", name)))
        monkeypatch.setenv("LRA_CONF_PATH", str(tmp_path / "conf"))
        monkeypatch.syspath_prepend(tmp_path / "code")
        return name

    return make


@pytest.mark.slow
def test_an_attention_anywhere_with_a_knob_called_as_one_of_ours(package, result_of):
    package(CODE, "OWN.Halved")
    shown = ["show", "model", "attention=mine", "size=tiny"]
    assert any("Halved" in cell for row in result_of(*shown).table.rows for cell in row)
    assert main([*shown, "attention.features=0.25"]) == 0
    assert main([*shown, "attention.features=x"]) == 2  # the kind is that of its default
    assert main(["show", "model", "attention=performer", "attention.features=0"]) == 2


@pytest.mark.slow
@pytest.mark.parametrize(
    "code, target, line",
    [
        (CODE, "no_such_module.attention.Halved", "Halved: Python finds no module no_such_module"),
        (CODE, "OWN.Doubled", "has no Doubled; name what it has: Halved\n"),
        (CODE, "OWN.Halved.twice", "has no attribute 'twice'"),
        ("import no_such_dependency\n", "OWN.Halved", "No module named 'no_such_dependency'"),
        ("1 / 0\n", "OWN.Halved", "ZeroDivisionError: division by zero"),
        ("def (\n", "OWN.Halved", "SyntaxError"),
        ("Halved = 3\n", "OWN.Halved", "Expected a callable target, got '3'"),
    ],
)
def test_what_cannot_be_imported_is_one_line(package, capsys, code, target, line):
    name = package(code, target)
    assert main(["show", "model", "attention=mine", "size=tiny"]) == 2
    err = capsys.readouterr().err
    assert line in err
    assert err.count("\n") == 1
    if "no_such_module" in target:
        assert "pip install -e ." in err
        assert "export PYTHONPATH=" in err
    elif "callable" not in line:
        assert f"_target_: {target.replace('OWN', name)}: " in err


def test_a_knob_that_its_code_does_not_take_is_one_line(package, refused):
    package(CODE.replace("features", "share"), "OWN.Halved")
    error = refused("show", "model", "attention=mine", "size=tiny")
    assert (error.kind, error.key) == ("unknown_option", "attention.features")
    assert "\n" not in str(error)
