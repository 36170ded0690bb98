"""After a test Lightning has moved the module to the CPU: what is measured then asks the machine for its device."""

import pytest
import torch

from lra.settings.compose import load_config
from lra.settings.which_run import run_dir
from lra.training import run as training
from lra.training.machine import Machine

TINY = ["task=listops", "size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv", "trainer.threads=1"]


def test_the_machine_knows_its_device(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 1)
    devices = [Machine(accelerator=accelerator).device.type for accelerator in ("gpu", "cpu")]
    assert devices == ["cuda", "cpu"]


@pytest.mark.slow
def test_memory_and_errors_are_measured_on_it(home, monkeypatch):
    """The device `meta` stands for the GPU: a module that is measured there is there."""
    from lra.cli import main

    seen = []
    monkeypatch.setattr(Machine, "device", property(lambda _: torch.device("meta")))
    monkeypatch.setattr(training, "peak_memory_bytes", lambda device: seen.append(device.type) or 1)
    monkeypatch.setattr(
        "lra.verbs.train_record.measure_approximation",
        lambda model, _, device: seen.extend((device.type, *{weight.device.type for weight in model.parameters()})),
    )
    assert main(["train", *TINY]) == 0
    assert seen == ["meta", "meta", "meta"]
    assert (run_dir(load_config("train", TINY)) / "result.json").exists()
