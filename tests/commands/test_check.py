"""lra check: a line for each contract check, PASS or FAIL, with the case that fails."""

import re
from pathlib import Path

import pytest

from lra.cli import main
from tests.conftest import ROOT

ATTENTION = """
import torch
from lra.attention.base import AttentionBackend

class Own(AttentionBackend):
    def forward(self, q, k, v, valid):
        if valid is not None:
            v = v * valid[:, None, :, None]
        {body}

def twin(q, k, v, valid, **values):
    return {twin}
"""
MIXER = """
import torch
from lra.model.mixer import SequenceMixer

class Own(SequenceMixer):
    def __init__(self, dims):
        super().__init__(dims)
        self.linear = torch.nn.Linear(dims.width, dims.width)

    def forward(self, x, valid):
        y = self.linear(x)
        if valid is not None:
            y = y * valid[:, :, None]
        {body}
"""
SUM = "return v.cumsum(2)"


@pytest.fixture
def own(tmp_path, monkeypatch, home):
    """Writes code of a class Own, and the YAML file that names it."""

    def make(group: str, code: str) -> str:
        name = f"checked_{tmp_path.name}"
        (tmp_path / f"{name}.py").write_text(code)
        (tmp_path / "conf" / group).mkdir(parents=True)
        text = f"name: own\n_target_: {name}.Own\n_partial_: true\n"
        (tmp_path / "conf" / group / "own.yaml").write_text(text)
        monkeypatch.setenv("LRA_CONF_PATH", str(tmp_path / "conf"))
        monkeypatch.syspath_prepend(tmp_path)
        return name

    return make


def checked(capsys, *words: str) -> tuple[int, list[str], str]:
    """Exit code, the lines of failed checks, and of the error."""
    code = main(["check", *words])
    out, err = capsys.readouterr()
    return code, [line for line in out.splitlines() if line.startswith("FAIL")], err


@pytest.mark.slow
def test_what_is_right_passes_also_beside_its_twin(own, result_of, capsys):
    code = ATTENTION.format(body=SUM, twin="(v if valid is None else v * valid[:, None, :, None]).cumsum(2)")
    name = own("attention", code)
    contract = result_of("check", "attention=own", f"twin={name}.twin")
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("PASS")]
    assert len(lines) == len(contract.passed) == 8, "the seven of each attention, and the twin"


@pytest.mark.slow
@pytest.mark.parametrize(
    "body, line",
    [
        ("return (v / valid.sum(1)[:, None, None, None]) if valid is not None else v", "is not finite"),
        ("return q + k.mean(2, keepdim=True)", "content of the padding changes a real token"),
        ("return v.mean((0, 2), keepdim=True).expand_as(v)", "is it batch_wide?"),
        ("return v + torch.rand(())", "a second evaluation pass gives another output"),
        ("return v.float()", "the output is torch.float32, not torch.float64"),
        ("return v[:, :, :16]", "the output has shape"),
        ("return v if q.shape[2] != 17 else v.nothing()", "AttributeError: 'Tensor' object has no attribute 'nothing'"),
        ("return v * v.detach()", "a gradient does not match finite differences"),
    ],
)
def test_each_broken_promise_of_an_attention_is_one_line(own, capsys, body, line):
    own("attention", ATTENTION.format(body=body, twin="v"))
    code, broken, err = checked(capsys, "attention=own")
    assert code == 2
    assert any(line in text for text in broken), broken
    assert re.search(rf"\b{len(broken)} of [7-9] ", err)


NAN = "return (v if valid is None else v / valid.any(1)[:, None, None, None])"


def test_what_is_not_finite_is_said_in_each_line_and_nothing_else_is_blamed(own, capsys):
    """NaN differs from itself: without a word for it, other examples, state_dict and repetition would be blamed."""
    own("attention", ATTENTION.format(body=NAN, twin="v"))
    code, broken, err = checked(capsys, "attention=own")
    assert code == 2
    assert len(broken) == 7
    assert err.startswith("lra: 7 of 7 ")
    for line in broken:
        assert "the output is not finite for a row that is all padding" in line
        assert "is it batch_wide?" not in line


@pytest.mark.slow
def test_a_twin_that_says_otherwise_is_one_line(own, capsys):
    name = own("attention", ATTENTION.format(body="return v", twin="2 * v"))
    code, broken, _ = checked(capsys, "attention=own", f"twin={name}.twin")
    assert code == 2
    (line,) = broken
    assert "reference implementation's: output differs by" in line
    assert "length=1, masked=True" in line


@pytest.mark.slow
@pytest.mark.parametrize(
    "body, line",
    [
        ("return y.cumsum(1)", None),
        ("return self.linear(x).cumsum(1)", "content of the padding changes a real token"),
        ("return y - y.mean(0)", "is it batch_wide?"),
        ("return y / (0 if valid is None else valid.sum(1)[:, None, None])", "is not finite"),
        ("return y + self.linear.bias.detach()", "a gradient does not match finite differences"),
        ("return y if y.dtype != torch.bfloat16 else y + 1", "output differs by 1"),
    ],
)
def test_a_mixer(own, capsys, body, line):
    own("mixer", MIXER.format(body=body))
    code, broken, _ = checked(capsys, "mixer=own")
    assert (code == 2) == (line is not None)
    assert line is None or any(line in text for text in broken), broken


@pytest.mark.slow
@pytest.mark.parametrize("twin, code", [("x @ weight.T + bias", 0), ("x @ weight.T", 2)])
def test_the_twin_of_a_mixer_is_of_the_mixer_alone(own, capsys, twin, code):
    """Without the LayerNorm before it and the residual connection, which are the block's."""
    twin = twin.replace("weight", "values['linear.weight']").replace("bias", "values['linear.bias']")
    name = own("mixer", MIXER.format(body=f"return y\n\ndef twin(x, valid, **values):\n    return {twin}"))
    status, broken, _ = checked(capsys, "mixer=own", f"twin={name}.twin")
    assert status == code, broken
    assert bool(broken) == (code == 2)


@pytest.mark.slow
def test_a_class_of_another_kind_is_one_line(own, capsys):
    own("mixer", ATTENTION.format(body="return v", twin="v"))
    code, broken, err = checked(capsys, "mixer=own")
    assert (code, broken) == (2, [])
    assert err.count("\n") == 1


def test_pytest_is_not_needed():
    for path in (ROOT / "lra" / "testing").glob("*.py"):
        assert "import pytest" not in path.read_text(), path


@pytest.mark.slow
def test_ours_pass(home, capsys):
    assert checked(capsys, "attention=linformer", "protocol=clean") == (0, [], "")
    assert not Path("runs").exists()
