"""lra bench step: what it prints, what it counts, its mistakes."""

import json
import subprocess
import sys

import pytest
import torch
from torch.nn.functional import scaled_dot_product_attention

from lra.settings.compose import load_config
from lra.tools.bench.step import without_dropout
from lra.training.cost.counting import count_work
from tests.conftest import outer_environment

SMALL = ("size=tiny", "model.num_layers=1", "dev_batches=1")


@pytest.fixture
def places(tmp_path, monkeypatch):
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_a_step_is_taken_apart(places, result_of):
    cost = result_of("bench", "step", *SMALL, "steps=2", "trace=step.json", "out=steps.jsonl")
    assert min(cost.bare) > 0
    assert cost.harness > cost.bare.total / 10
    assert all(whole > 0 and alone > 0 for whole, alone in cost.dev)
    assert min(cost.work.work.flops, cost.work.work.bytes, cost.work.flops_rate, cost.work.bytes_rate) > 0
    assert cost.losses is None, "this is a CPU in float32"
    events = json.loads((places / "step.json").read_text())["traceEvents"]
    assert any(event["name"] == "aten::bmm" for event in events)
    record = json.loads((places / "steps.jsonl").read_text())
    assert record["seconds"]["bare"] == cost.bare.total
    assert record["work"]["work"]["flops"] == cost.work.work.flops
    assert {path.name for path in places.iterdir()} == {"data", "step.json", "steps.jsonl"}, "no run is left"


@pytest.mark.slow
def test_a_run_shorter_than_what_is_timed_is_timed_as_far_as_it_goes(places, result_of):
    """It ends with a dev pass and a test, whose rows have no rate."""
    assert result_of("bench", "step", *SMALL, "recipe.steps=2").harness > 0


@pytest.mark.slow
def test_debug_profile_prints_the_operators_and_leaves_a_trace(places, result_of, capsys):
    words = ["size=tiny", "task=image", "attention=full", "steps=1", "dev_batches=1", "debug=profile"]
    profile = result_of("bench", "step", *words).profile
    assert profile.table in capsys.readouterr().out
    assert 0 < profile.products < 1
    assert (places / "step-image-full.trace.json").samefile(profile.trace)


@pytest.mark.slow
@pytest.mark.parametrize(
    "words, compared",
    [
        (["attention=full"], None),  # it is a CPU in float32 itself
        (["attention=full", "trainer.precision=64-true"], (True, True)),
        (["mixer=s4d", "trainer.precision=bf16-mixed"], (True, False)),
        (["attention=reformer", "trainer.precision=64-true"], (False, False)),  # it draws its buckets
    ],
)
def test_losses_are_those_of_a_cpu_in_float32_or_not(places, result_of, words, compared):
    """`compared`: whether they are compared with those of a CPU, and whether they are the same."""
    losses = result_of("bench", "step", *SMALL, "steps=1", *words).losses
    assert (None if losses is None else (losses.difference is not None, losses.is_close)) == compared


def test_what_is_compared_has_no_dropout_and_is_the_same_model_otherwise():
    cfg = load_config("bench", ["what=step", "attention=full", "recipe.batch_size=4", "compile=true"])
    run = without_dropout(cfg)
    assert (run.model.dropout, run.attention.attention_dropout, run.compile, run.recipe.batch_size) == (0, 0, False, 4)
    assert cfg.model.dropout > 0
    assert {key: value for key, value in run.model.items() if value != cfg.model[key]} == {"dropout": 0}


@pytest.mark.slow
@pytest.mark.exhaustive
def test_prepared_data_needs_no_package_that_only_making_data_or_wandb_needs(home):
    """A GPU's machine may have torch and lightning alone."""
    small = ["size=tiny", "model.num_layers=1", "recipe.steps=2"]
    train, bench = ["train", *small, "recipe.eval_every=2", "logger=csv"], ["bench", "step", *small, "steps=1"]
    code = (
        "import sys\n"
        "for name in ('tensorflow_datasets', 'array_record', 'importlib_resources', 'wandb', 'data_prep'):\n"
        "    sys.modules[name] = None\n"
        "from lra.cli import main\n"
        f"sys.exit(main({train}) or main({bench}))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=home.parent,
        env=outer_environment(),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_flops_are_those_of_the_products():
    a, b, c = torch.randn(5, 2, 3), torch.randn(5, 3, 4), torch.zeros(5, 2, 4)
    once = 2 * 5 * 2 * 3 * 4
    assert count_work(lambda: a @ b).flops == once
    assert count_work(lambda: torch.bmm(a, b, out=c)).flops == once
    assert count_work(lambda: c.baddbmm_(a, b)).flops == once
    assert count_work(lambda: c[0].addmm_(a[0], b[0])).flops == once / 5
    q, k = torch.randn(2, 3, 7, 8, requires_grad=True), torch.randn(2, 3, 9, 8)
    product = 2 * 2 * 3 * 7 * 9 * 8
    assert count_work(lambda: scaled_dot_product_attention(q, k, k)).flops == 2 * product
    assert count_work(lambda: scaled_dot_product_attention(q, k, k).sum().backward()).flops == 7 * product


def test_bytes_are_those_of_each_operators_tensors_and_views_are_free():
    x = torch.randn(100)
    work = count_work(lambda: x.view(10, 10) + 1)
    assert (work.bytes, work.operators) == (800, 1)
