"""The gated moving average: its count of parameters, its initial filters."""

import torch

from lra import from_config
from lra.model.classifier import count_parameters
from lra.model.mixer import MixerDims
from lra.settings.compose import load_config

DIMS = MixerDims(width=64, num_heads=2, head_dim=32, max_seq_len=2048, dropout=0.1)


def gated(*words: str):
    return next(from_config.build_mixers(load_config("train", ["mixer=gated", *words]))(DIMS, 1))


def test_the_parameters_are_as_many_as_the_formula_says():
    width, averages = 64, 16
    assert count_parameters(gated()) == 4 * 2 * width * averages + 2 * (width * width + width) == 16_512


def test_the_initial_averages_damp_and_their_signs_take_turns():
    made = gated("mixer.averages=4")
    assert made.beta_2DN.sign().unique(dim=1).flatten().tolist() == [1, -1, 1, -1] * 2
    ratio = 1 - made.alpha_2DN.sigmoid() * made.delta_2DN.sigmoid()
    assert 0.5 < ratio.min() < ratio.max() < 0.95


def test_each_direction_has_a_filter_of_its_own():
    ahead, back = gated().filters(8).detach()
    assert not torch.allclose(ahead, back, atol=1e-2)
