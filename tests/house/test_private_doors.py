"""Where `lra` goes past the interface of a library: one file for each, whose doors still lead where they did."""

import ast
import inspect
import re
import signal
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path

import pytest
import pytorch_lightning as pl
import torch
import wandb
from hydra.core.override_parser.overrides_parser import OverridesParser
from omegaconf import OmegaConf
from torch import nn
from torch.autograd import forward_ad
from torch.utils.data import DataLoader
from torch.utils.flop_counter import FlopCounterMode

from lra.ops import private_torch
from lra.settings import private_hydra
from lra.training import private_lightning, private_wandb
from tests.conftest import ROOT
from tests.house.test_floors import assert_none

LIBRARIES = ("torch", "hydra", "omegaconf", "pytorch_lightning", "lightning_fabric", "wandb")
OBJECTS = ("torch", "forward_ad", "ATEN", "trainer", "wandb", "pl")  # names of what belongs to a library
LOOPS = ("fit_loop", "epoch_loop")  # Lightning's, which it may change in any version


@contextmanager
def door_of(package):
    """What fails inside is told with the version that is installed and the one that was tried."""
    try:
        yield
    except Exception as error:
        tried = re.search(rf"^{package}==(.*)$", (ROOT / "constraints.txt").read_text(), re.MULTILINE)
        moved = f"a private door of {package} {version(package)} has moved; {tried[1]} was tried"
        raise AssertionError(moved) from error


def private_uses(path):
    """The lines of a file that use a library past its interface."""
    for node in ast.walk(ast.parse(path.read_text())):
        modules = []
        if isinstance(node, ast.ImportFrom) and node.module:
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        for module in modules:
            first, *parts = module.split(".")
            if first in LIBRARIES and any(part == "sdk" or is_private(part) for part in parts):
                yield f"{path.relative_to(ROOT)}:{node.lineno} {module}"
        if isinstance(node, ast.Attribute) and (is_private(node.attr) or node.attr in LOOPS):
            root = node
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in OBJECTS:
                yield f"{path.relative_to(ROOT)}:{node.lineno} {ast.unparse(node)}"


def is_private(name):
    return name.startswith("_") and not name.startswith("__")


def test_one_file_goes_past_the_interface_of_each_library():
    inside = [path for path in ROOT.glob("lra/**/*.py") if path.name.startswith("private_")]
    assert len(inside) == 4
    assert all(any(private_uses(path)) or "get_args_parser" in path.read_text() for path in inside)
    assert_none(use for path in ROOT.glob("lra/**/*.py") if path not in inside for use in private_uses(path))


def test_doors_of_hydra():
    with door_of("hydra-core"):
        cfg = OmegaConf.create({"a": {"b": 1}, "c": 2})
        parsed = OverridesParser.create().parse_overrides(["a.b=3", "~c", "+d=[1,2]"])
        private_hydra.set_values(cfg, parsed)
        assert cfg == {"a": {"b": 3}, "d": [1, 2]}
        assert private_hydra.flags_parser().parse_args(["--cfg", "job"]).cfg == "job"
        ours, theirs = (
            inspect.signature(kind.compose_config) for kind in (private_hydra._Composed, private_hydra.Hydra)
        )
        assert list(ours.parameters) == list(theirs.parameters)
        assert {"show_cfg", "run"} <= set(dir(private_hydra.Hydra))


BATCHES = DataLoader(torch.ones(20), batch_size=1)


class Line(pl.LightningModule):
    """Fits a number to zero."""

    def __init__(self):
        super().__init__()
        self.number = nn.Parameter(torch.ones(1))

    def training_step(self, batch, index):
        return (self.number * batch).square().sum()

    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), lr=0.1)


class Watch(pl.Callback):
    """Notes which batches are parts of a larger one, and which handler a signal has."""

    def __init__(self):
        self.accumulating, self.handlers = [], set()

    def on_train_batch_end(self, trainer, *_):
        self.accumulating.append(private_lightning.is_accumulating(trainer))
        self.handlers.add(signal.getsignal(signal.SIGTERM))
        if trainer.global_step == 2:
            private_lightning.end_at(trainer, 2)


def small_trainer(folder, **arguments):
    quiet = {"enable_progress_bar": False, "enable_model_summary": False, "logger": False, "accelerator": "cpu"}
    return pl.Trainer(default_root_dir=folder, enable_checkpointing=False, max_epochs=-1, **quiet, **arguments)


@pytest.mark.filterwarnings("ignore:You're resuming", "ignore:`isinstance")
def test_doors_of_lightning(tmp_path):
    with door_of("pytorch-lightning"):
        watch, handler = Watch(), signal.getsignal(signal.SIGTERM)
        trainer = small_trainer(tmp_path, max_steps=9, accumulate_grad_batches=2, callbacks=[watch])
        private_lightning.leave_signals_alone(trainer)
        trainer.fit(Line(), BATCHES)
        assert trainer.global_step == 2
        assert watch.accumulating == [True, False, True, False]
        assert watch.handlers == {handler}
        assert "optimizer_states" not in private_lightning.checkpoint_of_weights(trainer)
        trainer.save_checkpoint(tmp_path / "last.ckpt")

        entered, checked = [], []

        def around(function):
            def entering(*args, **kwargs):
                entered.append(function.__name__)
                return function(*args, **kwargs)

            return entering

        again = small_trainer(tmp_path, max_steps=3)
        private_lightning.around_restoring(again, around, lambda restored: checked.append(restored["global_step"]))
        again.fit(Line(), BATCHES, ckpt_path=tmp_path / "last.ckpt", weights_only=True)
        assert entered == ["_restore_modules_and_callbacks", "restore_training_state"]
        assert checked == [2]


def test_doors_of_torch():
    with door_of("torch"):
        q, k, v = (torch.rand(2, 1, 5, 4, generator=torch.manual_seed(seed), requires_grad=True) for seed in range(3))
        out, normalisers = private_torch.fused_attention(q, k, v)
        expected = nn.functional.scaled_dot_product_attention(q, k, v)
        torch.testing.assert_close(out, expected)
        grads = private_torch.fused_attention_backward(torch.ones_like(out), q, k, v, out, normalisers, 0.0, False)
        for mine, theirs in zip(grads, torch.autograd.grad(expected.sum(), (q, k, v)), strict=True):
            torch.testing.assert_close(mine, theirs)

        scores = torch.rand(3, 4, requires_grad=True)
        weights = torch.softmax(scores, -1)
        (expected,) = torch.autograd.grad((weights * v[0, 0, :3]).sum(), scores)
        torch.testing.assert_close(
            private_torch.softmax_backward(v[0, 0, :3].detach().clone(), weights.detach()), expected
        )

        seen = []

        def look(x):
            seen.append(private_torch.is_transformed())
            with private_torch.out_of_transformations():
                torch.rand(())  # which vmap refuses
            return x

        torch.vmap(look)(torch.ones(2))
        assert seen == [True]
        assert not private_torch.is_transformed()
        assert private_torch.forward_mode_level() < 0
        with forward_ad.dual_level():
            assert private_torch.forward_mode_level() == 0

        counts = private_torch.fourier_flops(lambda shape, dims, last=None: 100 + (last or shape[-1]))
        with FlopCounterMode(display=False, custom_mapping=counts) as counter:
            torch.fft.irfft(torch.fft.rfft(torch.ones(8)), 8)
            torch.fft.fft(torch.ones(8, dtype=torch.complex64))
        assert counter.get_total_flops() == 108 + 108 + 216


def test_doors_of_wandb(tmp_path, monkeypatch):
    with door_of("wandb"):
        assert callable(wandb.Settings.read_system_settings)
        private_wandb.read_no_current_folder()
        monkeypatch.chdir(tmp_path)
        Path("wandb").mkdir()
        Path("wandb/settings").write_text("[default]\nbase_url = http://elsewhere.example\n")
        read = wandb.Settings().read_system_settings()
        assert "elsewhere" not in str(read.all())


def test_a_door_that_has_moved_is_told_with_both_versions():
    with pytest.raises(AssertionError, match=rf"torch {re.escape(version('torch'))} has moved"), door_of("torch"):
        raise AttributeError("gone")
