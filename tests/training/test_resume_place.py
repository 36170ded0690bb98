"""A resume in another place: fewer GPUs than at the start, and processes whose clocks differ."""

import time
from types import SimpleNamespace

import pytest
import torch
from pytorch_lightning.callbacks import Timer

from lra.training import resume
from lra.training.loop_settings import LoopSettings

CPU, FIRST, SECOND = torch.device("cpu"), torch.device("cuda", 0), torch.device("cuda", 1)


@pytest.fixture
def restored(monkeypatch):
    """The states that are given to GPUs."""
    given: list[tuple[int, torch.device]] = []
    monkeypatch.setattr(torch.cuda, "set_rng_state", lambda state, device: given.append((int(state), device)))
    return given


@pytest.mark.parametrize("device, wanted", [(CPU, []), (FIRST, [0]), (SECOND, [0])])
def test_the_state_of_the_device_of_the_training_is_restored(restored, device, wanted):
    states = resume._random_states(CPU)
    assert states["cuda"] == [], "a run on a CPU asks no GPU"
    resume._restore_random_states({**states, "cuda": [torch.tensor(0)]}, device)
    assert restored == [(number, device) for number in wanted]


def test_processes_agree_on_whether_time_is_up():
    asked = []

    def decide(decision: bool, *, all: bool) -> bool:
        asked.append((decision, all))
        return True  # another process's clock says so

    timer = Timer(duration={"hours": 1})
    trainer = SimpleNamespace(callbacks=[timer], strategy=SimpleNamespace(reduce_boolean_decision=decide))
    assert resume._time_is_up(trainer)
    assert asked == [(False, False)]
    trainer.callbacks = []
    assert not resume._time_is_up(trainer)
    assert len(asked) == 1, "without a limit nothing is sent between processes"


@pytest.mark.parametrize("processes, asked_at", [(1, [1, 2, 3, 4, 5]), (2, [2, 4])])
def test_several_processes_ask_each_other_at_the_logged_steps_alone(processes, asked_at, tmp_path, monkeypatch):
    """They save where one of them must, and all of them where the run ends, without asking."""
    asked, saved = [], []

    def decide(decision: bool, *, all: bool) -> bool:
        asked.append(trainer.global_step)
        return trainer.global_step == 4  # where another process's clock says so

    trainer = SimpleNamespace(
        callbacks=[],
        strategy=SimpleNamespace(reduce_boolean_decision=decide),
        fit_loop=SimpleNamespace(_should_accumulate=lambda: False),
        world_size=processes,
        max_steps=5,
    )
    loop = LoopSettings(steps=100, eval_every=100, log_every_steps=2, checkpoint_every_seconds=3600)
    point = resume.ResumePoint(tmp_path, loop, best=None)
    point._saved = time.monotonic()
    monkeypatch.setattr(point, "_save", lambda trainer: saved.append(trainer.global_step))
    for trainer.global_step in range(1, 6):
        point.on_train_batch_end(trainer, None)
    assert asked == asked_at
    assert saved == [4, 5]
