"""The count of a GPU's work without a GPU, and the least time that follows from it."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cross_entropy

from lra import build, config
from lra.bench.ceiling import DATA_SHEETS, DeviceRates, ceiling, measured_rates
from lra.bench.gpu_work import gpu_work
from lra.training.counting import Work, count_work

WORDS = ["size=tiny", "model.num_layers=1", "model.packed=false"]


def counted(*words: str, batch_size: int) -> Work:
    cfg = config.load_config("train", [*WORDS, *words])
    return gpu_work(build.build_module(cfg), build.build_spec(cfg), batch_size=batch_size, masked=cfg.task.mask_zero)


@pytest.mark.slow
def test_the_products_are_those_of_a_step_with_numbers():
    cfg = config.load_config("train", [*WORDS, "attention=nystrom"])
    module, spec = build.build_module(cfg), build.build_spec(cfg)
    tokens = torch.ones(2, spec.num_sequences, spec.seq_len, dtype=torch.long)

    def step():
        cross_entropy(module.model(tokens, tokens != 0), tokens[:, 0, 0] * 0).backward()

    assert counted("attention=nystrom", batch_size=2).flops == count_work(step).flops


@pytest.mark.slow
@pytest.mark.parametrize("attention", ["nystrom", "full"])
def test_a_larger_batch_is_more_work_by_as_many_operators(attention):
    """A group of examples, or of matrices, that suits a CPU's caches would be a launch more for each group."""
    words = [f"attention={attention}", "protocol=clean"]
    words += ["attention.attention_dropout=0"] if attention == "full" else []
    small, large = (counted(*words, batch_size=size) for size in (32, 64))
    assert small.operators == large.operators
    assert large.flops == 2 * small.flops
    assert large.bytes > 1.9 * small.bytes


def test_exact_attention_never_stores_its_matrix():
    words = ["attention=full", "attention.attention_dropout=0", "task.sizes.tiny.seq_len=4096"]
    matrix_bytes = 4 * 2 * 4096**2
    assert counted(*words, batch_size=1).bytes < 5 * matrix_bytes, "a stored softmax moves it more than ten times"


def test_a_step_takes_at_least_what_it_has_most_of():
    rates = DeviceRates(flops_per_second=1e12, bytes_per_second=1e9, launch_seconds=1e-6)
    least = ceiling(Work(flops=10**12, bytes=10**9, operators=2_000_000), rates)
    assert (least.products, least.traffic, least.launches) == (1, 1, 2)
    assert (least.seconds, least.bound) == (2, "launches")


def test_a_data_sheet_has_more_products_in_fewer_digits_and_one_memory():
    rates = DATA_SHEETS["h100"]
    assert rates["32-true"].flops_per_second < rates["tf32"].flops_per_second < rates["bf16-mixed"].flops_per_second
    assert len({each.bytes_per_second for each in rates.values()}) == 1


@pytest.mark.slow
def test_rates_of_this_machine_are_those_of_a_machine():
    rates = measured_rates(torch.device("cpu"), torch.float32)
    assert 1e8 < rates.bytes_per_second < 1e13
    assert 1e8 < rates.flops_per_second < 1e15
    assert 1e-8 < rates.launch_seconds < 1e-3
