"""What the harness costs at ListOps' shape: a step in it over a bare one, a dev pass over its forward passes."""

import statistics

import numpy as np
import pytest

from lra import from_config
from lra.data.writer import StoreForm, write_store
from lra.from_config import machine_and_loggers
from lra.settings.compose import load_config
from lra.settings.which_run import store_dir
from lra.training.cost.harness_step import bare_step, batches_of, dev_pass, harness_steps, medians, profile_step

pytestmark = pytest.mark.slow


@pytest.fixture
def listops(tmp_path, monkeypatch):
    """A store of ListOps' lengths, contents at random."""
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path))
    cfg = load_config("train")
    spec, rng = from_config.build_spec(cfg), np.random.default_rng(0)
    examples = [([rng.integers(1, 16, n)], n % 10) for n in rng.integers(500, 2000, 320).tolist()]
    splits = {"train": examples, "dev": examples, "test": examples[:1]}
    facts = {
        "origin": "generated",
        "builder": "listops/full/1.0.0",
        "asked": {"settings": cfg.task.data, "source": "auto"},
    }
    form = StoreForm(spec=spec, dtype=np.uint8, max_length=2000, first_id=0)
    write_store(store_dir(cfg), form, splits, facts=facts, started=0.0)
    return cfg


def made(cfg):
    module, datamodule = from_config.build_module(cfg).train(), from_config.build_datamodule(cfg)
    optimizer = module.make_optimizer()
    return module, datamodule, optimizer, batches_of(datamodule, module.device)


def test_the_harness_costs_under_five_percent_of_a_step(listops, note):
    ratios = []
    for _ in range(3):
        module, datamodule, optimizer, batches = made(listops)
        bare = [bare_step(module, optimizer, next(batches)) for _ in range(12)][2:]
        machine = machine_and_loggers.build_machine(listops)
        seconds = harness_steps(module, datamodule, machine, steps=10, run_steps=5000)
        bare += [bare_step(module.train(), optimizer, next(batches)) for _ in range(10)]
        ratios.append(statistics.median(seconds) / medians(bare).total)
    note("harness over bare step", ratio=statistics.median(ratios))
    assert statistics.median(ratios) < 1.05


def test_a_dev_pass_costs_under_ten_percent_more_than_its_forward_passes(listops, note):
    module, datamodule, *_ = made(listops)
    machine = machine_and_loggers.build_machine(listops)
    dev_pass(module, datamodule, machine, batches=2)
    times = [dev_pass(module, datamodule, machine, batches=10) for _ in range(5)]
    ratio = statistics.median(whole / bare for whole, bare in times)
    note("dev pass over its forward passes", ratio=ratio)
    assert ratio < 1.1


def test_products_have_forty_percent_of_the_step(listops, tmp_path, note):
    module, _, optimizer, batches = made(listops)
    batch = next(batches)
    bare_step(module, optimizer, batch)
    _, share = profile_step(lambda: bare_step(module, optimizer, batch), tmp_path / "trace.json")
    note("products' share of the profiled listops step", ratio=share)
    assert (tmp_path / "trace.json").stat().st_size > 1000
    assert share >= 0.4
