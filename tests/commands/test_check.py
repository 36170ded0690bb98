"""lra check: a line for each contract check, PASS or FAIL, with the case that fails."""

from pathlib import Path

import pytest

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


@pytest.fixture
def broken(refused):
    """The broken promises of a class Own, by their names."""

    def check(*words: str):
        error = refused("check", *words)
        assert (error.kind, error.key) == ("contract", "own")
        assert "\n" not in str(error)
        return error.value

    return check


@pytest.mark.slow
def test_what_is_right_passes_also_beside_its_twin(own, result_of, capsys):
    code = ATTENTION.format(body=SUM, twin="(v if valid is None else v * valid[:, None, :, None]).cumsum(2)")
    name = own("attention", code)
    contract = result_of("check", "attention=own", f"twin={name}.twin")
    assert len(contract.passed) == 8, "the seven of each attention, and the twin"
    assert len(capsys.readouterr().out.splitlines()) == 8 + 1, "a line for each check, and the last"


@pytest.mark.slow
@pytest.mark.parametrize(
    "body, promise, kind",
    [
        (
            "return (v / valid.sum(1)[:, None, None, None]) if valid is not None else v",
            "keeps_shape",
            "not_finite_padding",
        ),
        ("return q + k.mean(2, keepdim=True)", "hides_padding", "reads_padding"),
        ("return v.mean((0, 2), keepdim=True).expand_as(v)", "independent_of_batch", "reads_batch"),
        ("return v + torch.rand(())", "repeats", "not_repeatable"),
        ("return v.float()", "keeps_shape", "other_dtype"),
        ("return v[:, :, :16]", "keeps_shape", "other_shape"),
        ("return v if q.shape[2] != 17 else v.nothing()", "keeps_shape", "AttributeError"),
        ("return v * v.detach()", "has_true_gradients", "wrong_gradient"),
    ],
)
def test_each_broken_promise_of_an_attention_is_one_line(own, broken, body, promise, kind):
    own("attention", ATTENTION.format(body=body, twin="v"))
    found = broken("attention=own")
    assert found[promise].kind == kind
    assert all("\n" not in str(error) for error in found.values())


NAN = "return (v if valid is None else v / valid.any(1)[:, None, None, None])"


def test_what_is_not_finite_is_said_in_each_line_and_nothing_else_is_blamed(own, refused):
    """NaN differs from itself: without a word for it, other examples, state_dict and repetition would be blamed."""
    own("attention", ATTENTION.format(body=NAN, twin="v"))
    error = refused("check", "attention=own")
    assert len(error.value) == error.right == 7
    assert {each.kind for each in error.value.values()} == {"not_finite_padding"}


@pytest.mark.slow
def test_a_twin_that_says_otherwise_is_one_line(own, broken):
    name = own("attention", ATTENTION.format(body="return v", twin="2 * v"))
    ((promise, error),) = broken("attention=own", f"twin={name}.twin").items()
    assert (promise, error.kind) == ("equals_reference", "other_output")
    assert error.case == {"length": 1, "masked": True}


@pytest.mark.slow
@pytest.mark.parametrize(
    "body, promise, kind",
    [
        ("return y.cumsum(1)", None, None),
        ("return self.linear(x).cumsum(1)", "hides_padding", "reads_padding"),
        ("return y - y.mean(0)", "independent_of_batch", "reads_batch"),
        ("return y / (0 if valid is None else valid.sum(1)[:, None, None])", "keeps_shape", "not_finite_padding"),
        ("return y + self.linear.bias.detach()", "has_true_gradients", "wrong_gradient"),
        ("return y if y.dtype != torch.bfloat16 else y + 1", "computes_in_bfloat16", "other_output"),
    ],
)
def test_a_mixer(own, broken, result_of, body, promise, kind):
    own("mixer", MIXER.format(body=body))
    if promise is None:
        assert result_of("check", "mixer=own").passed
    else:
        assert broken("mixer=own")[promise].kind == kind


@pytest.mark.slow
@pytest.mark.parametrize("twin, code", [("x @ weight.T + bias", 0), ("x @ weight.T", 2)])
def test_the_twin_of_a_mixer_is_of_the_mixer_alone(own, broken, result_of, twin, code):
    """Without the LayerNorm before it and the residual connection, which are the block's."""
    twin = twin.replace("weight", "values['linear.weight']").replace("bias", "values['linear.bias']")
    name = own("mixer", MIXER.format(body=f"return y\n\ndef twin(x, valid, **values):\n    return {twin}"))
    words = ("mixer=own", f"twin={name}.twin")
    if code:
        assert "equals_reference" in broken(*words)
    else:
        assert "equals_reference" in {promise.name for promise in result_of("check", *words).passed}


@pytest.mark.slow
def test_a_class_of_another_kind_is_one_line(own, refused):
    own("mixer", ATTENTION.format(body="return v", twin="v"))
    error = refused("check", "mixer=own")
    assert (error.kind, error.key) == ("other_kind", "own")
    assert "\n" not in str(error)


def test_pytest_is_not_needed():
    for path in (ROOT / "lra" / "testing").glob("*.py"):
        assert "import pytest" not in path.read_text(), path


@pytest.mark.slow
def test_ours_pass(home, result_of):
    assert len(result_of("check", "attention=linformer", "protocol=clean").passed) >= 7
    assert not Path("runs").exists()
