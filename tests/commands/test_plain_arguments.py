"""What is made from configuration gets Python's lists and dictionaries, and not those of the configuration."""

import pytest
import torch
from pytorch_lightning.callbacks import Callback, Timer
from pytorch_lightning.loggers.logger import DummyLogger

from lra import from_config
from lra.attention.none import NoAttention
from lra.from_config.machine_and_loggers import build_callbacks, build_loggers
from lra.settings.compose import load_config

VALUE = "{a: [1, 2], b: {c: 3}}"
PLAIN = {"a": [1, 2], "b": {"c": 3}}
HERE = __name__
SEEN: list[object] = []


class Held(Callback):
    def __init__(self, value: object):
        SEEN.append(value)


class HeldLogger(DummyLogger):
    def __init__(self, value: object):
        SEEN.append(value)


class HeldAttention(NoAttention):
    def __init__(self, dims: object, *, value: object):
        super().__init__(dims)
        SEEN.append(value)


def held_optimizer(parameters, value: object) -> torch.optim.Optimizer:
    SEEN.append(value)
    return torch.optim.SGD(parameters)


def held_schedule(optimizer, *, value: object, **_: object) -> torch.optim.lr_scheduler.LRScheduler:
    SEEN.append(value)
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)


def make_optimizer_and_schedule(cfg) -> None:
    from_config.build_module(cfg).configure_optimizers()


@pytest.mark.parametrize(
    "words, make",
    [
        ((f"+callbacks.x._target_={HERE}.Held", f"+callbacks.x.value={VALUE}"), build_callbacks),
        (
            ("logger=csv", f"+logger.x._target_={HERE}.HeldLogger", f"+logger.x.value={VALUE}"),
            lambda cfg: build_loggers(cfg, None, None),
        ),
        (
            (
                f"recipe.optimizer._target_={HERE}.held_optimizer",
                f"+recipe.optimizer.value={VALUE}",
                *(f"~recipe.optimizer.{name}" for name in ("lr", "betas", "eps", "weight_decay")),
            ),
            make_optimizer_and_schedule,
        ),
        (
            (f"recipe.schedule._target_={HERE}.held_schedule", f"+recipe.schedule.value={VALUE}"),
            make_optimizer_and_schedule,
        ),
        (
            ("attention=none", f"attention._target_={HERE}.HeldAttention", f"+attention.value={VALUE}"),
            from_config.build_model,
        ),
    ],
    ids=["callback", "logger", "optimizer", "schedule", "attention"],
)
def test_lists_and_groups_arrive_as_pythons(words, make):
    SEEN.clear()
    make(load_config("train", ["size=tiny", *words]))
    assert SEEN
    for value in SEEN:
        assert (value, type(value), type(value["a"]), type(value["b"])) == (PLAIN, dict, list, dict)


def test_lightnings_timer_takes_a_duration_by_units():
    words = ["+callbacks.timer._target_=pytorch_lightning.callbacks.Timer", "+callbacks.timer.duration={minutes: 5}"]
    (timer,) = build_callbacks(load_config("train", words))
    assert isinstance(timer, Timer)
    assert timer.time_remaining() == 300
