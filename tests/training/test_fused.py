"""trainer.fused_optimizer: the same training in one kernel, in the run's hash, on by default on a GPU alone."""

import re
from functools import partial

import pytest
import torch

from lra import from_config
from lra.settings.compose import load_config
from lra.settings.which_run import hashed_settings
from lra.training.optimizer import fused_where_possible
from tests.conftest import ROOT


def trained(words: list[str], steps: int = 20) -> dict[str, torch.Tensor]:
    """Weights after some steps on random tokens, without dropout."""
    cfg = load_config("train", ["size=tiny", "attention=average", "model.dropout=0", *words])
    torch.manual_seed(0)
    module = from_config.build_module(cfg)
    made = module.configure_optimizers()
    tokens = torch.randint(1, 16, (8, 1, 32))
    for _ in range(steps):
        loss = torch.nn.functional.cross_entropy(module.model(tokens, tokens != 0), tokens[:, 0, 0] % 10)
        made["optimizer"].zero_grad()
        loss.backward()
        made["optimizer"].step()
        made["lr_scheduler"]["scheduler"].step()
    return module.model.state_dict()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["AdamW", "Adam"])
def test_twenty_steps_are_the_same_up_to_rounding(name):
    words = [f"recipe.optimizer._target_=torch.optim.{name}", "recipe.steps=20", "recipe.optimizer.weight_decay=0.1"]
    plain, fused = trained(words), trained([*words, "trainer.fused_optimizer=true"])
    for key, weight in plain.items():
        torch.testing.assert_close(fused[key], weight, rtol=1e-5, atol=1e-7)


def optimizer_of(*words: str) -> torch.optim.Optimizer:
    return from_config.build_module(load_config("train", ["size=tiny", "attention=none", *words])).make_optimizer()


@pytest.mark.slow
def test_the_setting_reaches_the_optimizer():
    assert optimizer_of().defaults["fused"] is None
    assert optimizer_of("trainer.fused_optimizer=true").defaults["fused"] is True
    chosen = optimizer_of("trainer.fused_optimizer=true", "+recipe.optimizer.foreach=true")
    assert (chosen.defaults["fused"], chosen.defaults["foreach"]) == (None, True), "what the recipe says holds"


def test_every_optimizer_that_the_setting_names_has_a_fused_form():
    (line,) = [line for line in (ROOT / "conf/trainer/cpu.yaml").read_text().splitlines() if "fused_optimizer" in line]
    named = re.search(r"\(such as (.*)\)", line)
    assert named, "there are others, and torch adds some"
    for name in named[1].split(", "):
        weight = torch.nn.Parameter(torch.ones(3))
        optimizer = fused_where_possible(partial(getattr(torch.optim, name), lr=0.1))([weight])
        assert optimizer.defaults["fused"] is True
        weight.sum().backward()
        optimizer.step()
        assert (weight < 1).all()


def test_an_optimizer_without_a_fused_form_stays_as_it_is():
    make = partial(torch.optim.RMSprop, lr=0.1)
    assert fused_where_possible(make) is make
    assert fused_where_possible(torch.optim.RMSprop) is torch.optim.RMSprop


def test_it_is_on_for_a_gpu_and_in_the_hash():
    def settings(*words: str):
        return hashed_settings(load_config("train", words))["trainer"]

    assert "fused_optimizer" not in settings()
    assert settings("trainer=gpu")["fused_optimizer"] is True
    assert "fused_optimizer" not in settings("trainer=gpu", "trainer.fused_optimizer=false")


def test_clipping_in_mixed_precision_is_refused_as_lightning_would(home, capsys):
    from lra.cli import main

    words = ["train", "size=tiny", "logger=csv", "trainer.fused_optimizer=true", "trainer.precision=bf16-mixed"]
    assert main([*words, "+trainer.gradient_clip_val=1.0"]) == 2
    assert "type trainer.fused_optimizer=false" in capsys.readouterr().err
