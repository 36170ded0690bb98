"""A training step in the padded form, which a GPU takes, never waits for the device: every task, attention and mixer.

A wait costs more than the wait itself: while the host waits it launches nothing, and the GPU is idle after.
"""

from contextlib import ExitStack
from itertools import product, repeat
from typing import Any

import pytest
import pytorch_lightning as pl
import torch
from pytorch_lightning.accelerators import CPUAccelerator
from pytorch_lightning.callbacks import Callback
from pytorch_lightning.loops import evaluation_loop, fit_loop
from pytorch_lightning.strategies import ParallelStrategy, SingleDeviceStrategy
from torch import distributed
from torch.utils._python_dispatch import _get_current_dispatch_mode

from lra import from_config
from lra.from_config import machine_and_loggers
from lra.settings.compose import load_config
from lra.training import run
from lra.training.loop_settings import LoopSettings, TrainerAdditions
from lra.training.ranks import leave_process_group
from lra.types import Batch
from tests.attention.test_contract import NAMES
from tests.mixers.test_tasks import MIXERS
from tests.pairs import each_once
from tests.test_conf import TASKS
from tests.training.fake_gpu import composed, config_of, example_tokens
from tests.training.waiting import DEVICE, WaitsError, no_autocast, without_waiting

CHOICES = [
    *(["attention=nystrom", f"attention.landmark_rule={rule}"] for rule in ("strided", "random", "kmeans")),
    ["attention=nystrom", "attention.landmark_source=keys", "attention.pinv=regularised"],
    ["attention=nystrom", "attention.coarse_landmarks=8", "attention.pinv=regularised"],
    ["attention=nystrom", "attention.value_skip_form=product"],
    ["attention=full", "attention.kernel=math"],
    ["attention=performer", "attention.kernel=relu"],
    ["attention=linformer", "attention.sharing=none"],
    ["mixer=s4d", "mixer.discretisation=bilinear", "mixer.input=learned", "mixer.init=inv"],
    ["protocol.pooling=cls"],
    ["recipe.optimizer._target_=torch.optim.Adam"],
]
# What waits, and why it may.
WAITS = {
    "attention=nystrom attention.pinv=exact": "a singular value decomposition needs the host; it is for comparisons",
    "attention=performer attention.redraw_every=1": "the host draws orthogonal features, once in so many steps",
}
METHODS = [*(f"attention={name}" for name in NAMES), *(f"mixer={name}" for name in MIXERS)]
PROTOCOLS = ("paper", "clean")
CELLS = [
    *product(TASKS, METHODS, PROTOCOLS),
    *((task, method, "s4") for task, method in each_once(TASKS, METHODS)),
]


def step(cfg: Any, *, steps: int = 1) -> None:
    """Train steps as a run does: loss, gradients, optimizer, schedule, metrics."""
    if "pinv_iterations" in cfg.attention:
        cfg = cfg.changed({"attention.pinv_iterations": 1})  # for speed: operators of meta tensors are slow
    with DEVICE:
        module = from_config.build_module(cfg).train()
    tokens = example_tokens(cfg, DEVICE)
    batch = Batch(tokens, tokens != 0 if cfg.task.mask_zero else None, tokens[:, 0, 0].long())
    made = module.configure_optimizers()
    optimizer, schedule = made["optimizer"], made["lr_scheduler"]["scheduler"]
    with without_waiting():
        for number in range(steps):
            loss = module.training_step(batch, number)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(module.parameters(), 1.0)
            optimizer.step()
            schedule.step()


@pytest.mark.slow
@pytest.mark.some_in_ci(60)
@pytest.mark.parametrize("task, method, protocol", CELLS)
def test_a_step_does_not_wait(task, method, protocol):
    step(config_of(task, method, protocol))


@pytest.mark.slow
@pytest.mark.parametrize("words", CHOICES, ids=" ".join)
def test_a_step_with_other_choices_does_not_wait(words):
    step(composed(*words))


@pytest.mark.parametrize("words", WAITS)
def test_what_waits_is_known(words):
    with pytest.raises((WaitsError, NotImplementedError)):
        step(composed(*words.split()), steps=2)


def test_a_dev_batch_does_not_wait():
    cfg = load_config("train", ["size=tiny", "attention=nystrom"])
    module = from_config.build_module(cfg).eval().to(DEVICE)
    tokens = torch.ones(2, 1, 256, dtype=torch.long, device=DEVICE)
    with torch.no_grad(), without_waiting():
        module.validation_step(Batch(tokens, tokens != 0, tokens[:, 0, 0]), 0)


X, HOST = torch.ones(4, device=DEVICE), torch.ones(4)
PLANTED = {
    "item": lambda: X.sum().item(),
    "bool": lambda: bool(X.any()),
    "tolist": lambda: X.tolist(),
    "nonzero": lambda: X.nonzero(),
    "index by a mask": lambda: X[X > 0],
    "index by a list": lambda: X[[0, 2]],
    "index from the host": lambda: X[torch.arange(2)],
    "set by a mask": lambda: X.clone().__setitem__(X > 0, X.sum()),
    "masked_select": lambda: X.masked_select(X > 0),
    "unique": lambda: X.unique(),
    "bincount": lambda: X.long().bincount(),
    "equal": lambda: X.equal(X),
    "repeat_interleave": lambda: X.repeat_interleave(X.long()),
    "to the device": lambda: HOST.to(DEVICE),
    "a number to the device": lambda: HOST.sum().to(DEVICE),
    "to the host": lambda: X.cpu(),
    "copy_": lambda: X.clone().copy_(HOST),
    "a tensor of numbers": lambda: torch.tensor([1.0], device=DEVICE),
    "as_tensor": lambda: torch.as_tensor(1.0, device=DEVICE),
    "new_tensor": lambda: X.new_tensor([1.0]),
    "solve": lambda: torch.linalg.solve(X.diag(), X),
}
FREE = {
    "a number": lambda: X * 2 + torch.tensor(1.0),
    "where": lambda: torch.where(X > 0, X, 1.0),
    "masked_fill": lambda: X.masked_fill(X > 0, 1.0),
    "index by numbers": lambda: X[torch.arange(2, device=DEVICE)],
    "a known size": lambda: X.repeat_interleave(X.long(), output_size=4),
    "on the host": lambda: HOST.sum().item() + len(HOST[HOST > 0]),
    "factories": lambda: torch.eye(3, device=DEVICE) + torch.rand(3, device=DEVICE),
}


@pytest.mark.parametrize("name", PLANTED)
def test_it_sees(name):
    with pytest.raises(WaitsError), without_waiting():
        PLANTED[name]()


@pytest.mark.parametrize("name", FREE)
def test_it_lets_pass(name):
    with without_waiting():
        FREE[name]()


class OneProcess(SingleDeviceStrategy):
    """A run on the device `meta`."""

    def teardown(self):
        """The weights cannot go back to the host."""


class OneOfTwo(OneProcess):
    """The first of two processes; what Lightning asks the other one goes through the device."""

    reduce_boolean_decision = ParallelStrategy.reduce_boolean_decision

    def __init__(self, device):
        super().__init__(device=device)
        self.world_size = 2

    def reduce(self, tensor, *_, **__):
        return tensor

    def broadcast(self, obj, src=0):
        if _get_current_dispatch_mode() is not None:
            raise WaitsError("a broadcast waits for the device")
        return obj


class Loader:
    """The same batch again and again, which is on the device."""

    def __init__(self, batch):
        self.batch = batch

    def __len__(self):
        return STEPS

    def __iter__(self):
        return repeat(self.batch, STEPS)


class Batches(pl.LightningDataModule):
    def __init__(self, batch):
        super().__init__()
        self.batch = batch

    def train_dataloader(self):
        return Loader(self.batch)

    val_dataloader = train_dataloader


STEPS, FIRST, LAST = 1000, 1, 7  # of the run; the first and the last that must not wait


class Watched(Callback):
    """Refuses waiting from the start of one step to that of a later one; it is before all other callbacks."""

    def __init__(self):
        self.steps, self.stack = 0, ExitStack()

    def on_train_batch_start(self, trainer, *_):
        self.steps = trainer.global_step
        if trainer.global_step == FIRST:
            self.stack.enter_context(without_waiting())
        if trainer.global_step == LAST:
            self.stack.close()


@pytest.fixture
def train(tmp_path, monkeypatch):
    """Train some steps of a run, with all that Lightning and callbacks do in them; gives the last that was watched."""

    def make_trainer(machine, arguments, callbacks, **settings):
        arguments = {**arguments, "strategy": strategies[0](device=DEVICE)}
        return make(machine, arguments, callbacks=[watched, *callbacks], **settings)

    def train_on_device(strategy, words):
        strategies.append(strategy)
        cfg = load_config("train", ["size=tiny", "attention=none", "model.num_layers=1", *words])
        module, tokens = from_config.build_module(cfg), torch.ones(2, 1, 256, dtype=torch.long, device=DEVICE)
        module.check_finite = lambda: None  # it waits, where a checkpoint is written
        with no_autocast():
            run.fit(
                module,
                Batches(Batch(tokens, tokens != 0, tokens[:, 0, 0])),
                tmp_path,
                machine_and_loggers.build_machine(cfg),
                LoopSettings(
                    steps=STEPS,
                    eval_every=STEPS,
                    max_steps=LAST + 1,
                    log_every_steps=STEPS,
                    checkpoint_every_seconds=60,
                ),
                TrainerAdditions(
                    callbacks=machine_and_loggers.build_callbacks(cfg),
                    arguments=machine_and_loggers.build_trainer_arguments(cfg),
                ),
            )
        assert (tmp_path / "last.ckpt").exists()
        return watched.steps

    strategies, watched, make = [], Watched(), run.make_trainer
    monkeypatch.setattr(run, "make_trainer", make_trainer)
    monkeypatch.setattr(CPUAccelerator, "setup_device", lambda *_: None)
    for loop in (fit_loop, evaluation_loop):  # it reads the device, once
        monkeypatch.setattr(loop, "has_len_all_ranks", lambda *_: True)
    distributed.init_process_group("gloo", store=distributed.HashStore(), rank=0, world_size=1)
    yield train_on_device
    watched.stack.close()
    leave_process_group()


@pytest.mark.some_fast(1)
@pytest.mark.parametrize("strategy", [OneProcess, OneOfTwo])
@pytest.mark.parametrize("words", [(), ("+trainer.max_time=00:01:00:00",)], ids=str)
def test_a_run_with_its_callbacks_does_not_wait_between_logged_steps(train, strategy, words):
    assert train(strategy, words) == LAST


@pytest.mark.slow
def test_an_average_of_the_weights_waits(train):
    """torch reads from the device whether it is the first."""
    with pytest.raises((WaitsError, RuntimeError)):
        train(OneProcess, ["callbacks=ema"])
