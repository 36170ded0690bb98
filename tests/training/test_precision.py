"""A precision's name says what is computed: float32 is never TF32, and what a device lacks is refused."""

import pytest
import torch

from lra import from_config
from lra.from_config.machine_and_loggers import build_machine
from lra.settings.compose import load_config
from lra.settings.which_run import config_hash, run_dir
from lra.training.cost.harness_step import bare_step
from lra.training.machine import Machine, check_gpu_precision, lightning_precision, prepare_machine, to_weight_dtype
from lra.training.trainer import make_trainer
from lra.types import Batch, UserError


@pytest.fixture(autouse=True)
def _restore():
    yield
    torch.set_float32_matmul_precision("highest")


def machine(precision: str) -> Machine:
    return Machine(accelerator="cpu", precision=precision)


def test_float32_is_exact_whatever_ran_before_in_this_process():
    said = []
    for precision in ("tf32", "32-true", "tf32", "bf16-mixed", "tf32", "16-mixed"):
        prepare_machine(machine(precision))
        said.append((torch.get_float32_matmul_precision(), torch.backends.cudnn.allow_tf32))
    exact, shorter = ("highest", False), ("high", True)
    assert said == [shorter, exact, shorter, exact, shorter, exact]


@pytest.mark.parametrize(
    ("precision", "dtype"), [("32-true", torch.float32), ("bf16-mixed", torch.bfloat16), ("64-true", torch.float64)]
)
def test_a_timed_step_computes_in_the_asked_precision(precision, dtype):
    module = to_weight_dtype(precision, from_config.build_module(load_config("train", ["size=tiny"])))
    seen = []
    last = [part for part in module.modules() if isinstance(part, torch.nn.Linear)][-1]
    last.register_forward_hook(lambda _, inputs, logits: seen.append(logits.dtype))
    tokens = torch.randint(1, 15, (2, 1, 32))
    bare_step(module, module.make_optimizer(), Batch(tokens, tokens != 0, torch.tensor([0, 1])), precision)
    assert seen == [dtype]


def test_to_lightning_tf32_is_float32():
    assert [lightning_precision(name) for name in ("tf32", "32-true", "16-mixed")] == ["32-true", "32-true", "16-mixed"]
    assert make_trainer(machine("tf32"), logger=False).precision == "32-true"


@pytest.mark.parametrize("precision, right", [("tf32", "32-true"), ("bf16-mixed", "16-mixed")])
@pytest.mark.parametrize("capability, has", [((7, 5), False), ((8, 0), True), ((9, 0), True)])
def test_a_gpu_without_the_precision_is_refused(monkeypatch, capability, has, precision, right):
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda: capability)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "Old GPU")
    check_gpu_precision("32-true")
    check_gpu_precision("16-mixed")
    if has:
        check_gpu_precision(precision)
    else:
        with pytest.raises(UserError, match="Old GPU") as caught:
            check_gpu_precision(precision)
        assert (caught.value.value, caught.value.right) == (precision, f"trainer.precision={right}")


@pytest.mark.parametrize("visible, devices, fits", [(2, 4, False), (1, 2, False), (2, 2, True), (4, 2, True)])
def test_more_devices_than_visible_are_refused(home, refused, monkeypatch, visible, devices, fits):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: visible)
    words = ("size=tiny", "logger=csv", "trainer=gpu", f"trainer.devices={devices}")
    if fits:
        build_machine(load_config("train", words))
    else:
        error = refused("train", *words)
        assert (error.key, error.value, error.right) == ("trainer.devices", devices, f"trainer.devices={visible}")


def test_the_type_of_attention_is_for_mixed_precision_and_in_the_hash_where_it_is_chosen(home, refused):
    error = refused("train", "size=tiny", "logger=csv", "model.attention_dtype=autocast")
    assert (error.kind, error.key, error.right) == (
        "no_effect",
        "model.attention_dtype",
        "trainer.precision=bf16-mixed",
    )
    usual, same, other = (
        config_hash(load_config("train", ["trainer.precision=bf16-mixed", *words]))
        for words in ((), ("model.attention_dtype=float32",), ("model.attention_dtype=autocast",))
    )
    assert usual == same != other


@pytest.mark.slow
def test_each_precision_is_a_run_of_its_own():
    names = ("32-true", "tf32", "bf16-mixed", "16-mixed")
    folders = {run_dir(load_config("train", ["trainer=gpu", f"trainer.precision={name}"])) for name in names}
    assert len(folders) == len(names)
    assert load_config("train", ["trainer=gpu"]).trainer.precision == "32-true", "the paper's, unless asked"
