"""A device that trains otherwise than the CPU is found out; rounding is not."""

from __future__ import annotations

import pytest
import torch

from lra import build, config
from lra.bench.step_parity import draws, losses, step_parity
from lra.types import Batch

EXACT = torch.tensor([2.0, 1.9, 1.8], dtype=torch.float64)


@pytest.mark.parametrize(
    "apart, precision, holds",
    [
        (3e-7, "32-true", True),
        (3e-5, "32-true", False),
        (3e-4, "tf32", True),
        (3e-3, "bf16-mixed", True),
        (3e-1, "bf16-mixed", False),
        (float("nan"), "32-true", False),
    ],
)
def test_a_device_may_differ_as_its_digits_do(apart, precision, holds):
    parity = step_parity(EXACT, EXACT + 1e-7, EXACT + apart, precision=precision)
    assert parity.holds is holds
    assert parity.rounding == pytest.approx(1.2e-7, rel=0.2), "not below float32's own"


def modules(*words: str):
    cfg = config.load_config("train", ["size=tiny", "model.num_layers=1", "model.dropout=0", *words])
    spec = build.build_spec(cfg)
    torch.manual_seed(1)
    tokens = torch.randint(1, spec.vocab_size, (3, 2, spec.num_sequences, spec.seq_len))
    batches = [Batch(each, each != 0, torch.tensor([0, 1])) for each in tokens]

    def make():
        torch.manual_seed(0)
        return build.build_module(cfg).train()

    return make, batches


def test_the_same_weights_and_batches_have_the_same_losses_up_to_rounding():
    make, batches = modules("attention=nystrom")
    exact, single = losses(make().double(), batches, "64-true"), losses(make(), batches, "32-true")
    assert step_parity(exact, single, single, precision="32-true").holds
    assert len(exact.unique()) == 3, "the weights change from step to step"
    wrong = make()
    with torch.no_grad():
        wrong.model.encoder.blocks[0].mixer.backend.value_skip.mul_(1.001)
    assert not step_parity(exact, single, losses(wrong, batches, "32-true"), precision="32-true").holds


@pytest.mark.parametrize("attention, drawn", [("nystrom", False), ("reformer", True)])
def test_what_draws_random_numbers_in_a_step_is_known(attention, drawn):
    make, batches = modules(f"attention={attention}")
    assert draws(make(), batches[0]) is drawn
