"""A device that trains otherwise than a CPU in float32 is found out; rounding is not."""

import math

import pytest
import torch

from lra import from_config
from lra.settings.compose import load_config
from lra.tools.bench.step import TOLERANCE, draws, losses, relative_difference
from lra.types import Batch


def modules(*words: str):
    cfg = load_config("train", ["size=tiny", "model.num_layers=1", "model.dropout=0", *words])
    spec = from_config.build_spec(cfg)
    torch.manual_seed(1)
    tokens = torch.randint(1, spec.vocab_size, (3, 2, spec.num_sequences, spec.seq_len))
    batches = [Batch(each, each != 0, torch.tensor([0, 1])) for each in tokens]

    def make():
        torch.manual_seed(0)
        return from_config.build_module(cfg).train()

    return make, batches


def test_a_difference_is_relative_to_the_expected_loss_and_nan_is_never_within_the_tolerance():
    expected = torch.tensor([2.0, 4.0], dtype=torch.float64)
    assert relative_difference(expected, torch.tensor([2.0, 3.0], dtype=torch.float64)) == 0.25
    unknown = relative_difference(expected, torch.tensor([2.0, math.nan], dtype=torch.float64))
    assert not unknown <= TOLERANCE


def test_the_same_weights_and_batches_have_the_same_losses():
    make, batches = modules("attention=nystrom")
    on_cpu = losses(make(), batches, "32-true")
    assert len(on_cpu.unique()) == 3, "the weights change from step to step"
    assert relative_difference(on_cpu, losses(make(), batches, "32-true")) == 0
    assert relative_difference(on_cpu, losses(make().double(), batches, "64-true")) < TOLERANCE / 10


def test_a_shorter_precision_and_other_weights_are_found():
    make, batches = modules("attention=nystrom")
    on_cpu = losses(make(), batches, "32-true")
    assert relative_difference(on_cpu, losses(make(), batches, "bf16-mixed")) > TOLERANCE
    wrong = make()
    with torch.no_grad():
        wrong.model.encoder.blocks[0].mixer.backend.value_skip.mul_(1.01)
    assert relative_difference(on_cpu, losses(wrong, batches, "32-true")) > TOLERANCE


@pytest.mark.parametrize("attention, drawn", [("nystrom", False), ("reformer", True)])
def test_what_draws_random_numbers_in_a_step_is_known(attention, drawn):
    make, batches = modules(f"attention={attention}")
    assert draws(make(), batches[0]) is drawn
