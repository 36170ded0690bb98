"""Where a run reads late, as on a GPU, it reads numbers from the device only at logged points and after dev passes."""

from collections import Counter

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from lra.cli import main
from lra.training.checkpoints import saved_step
from lra.training.curves import read_curves
from lra.training.module import ClassifierModule, MeanLoss
from lra.training.resume import ResumePoint

COMMAND = ("train", "size=tiny", "logger=csv", "model.packed=false", "recipe.steps=20", "recipe.eval_every=10")
LOGGED = 5  # steps between two logged points


class Reads(TorchDispatchMode):
    """Counts how often a number is read, by the number of training steps begun."""

    def __init__(self):
        super().__init__()
        self.by_step: Counter[int] = Counter()
        self.step = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.by_step[self.step] += func is torch.ops.aten._local_scalar_dense.default
        return func(*args, **(kwargs or {}))


@pytest.fixture
def reads(monkeypatch):
    mode, step = Reads(), ClassifierModule.training_step

    def counted(self, batch, number):
        mode.step += 1
        return step(self, batch, number)

    monkeypatch.setattr(ClassifierModule, "training_step", counted)
    return mode


def read_at(reads: Reads, *words: str) -> list[int]:
    """Train a run, and tell during which steps a number was read."""
    with reads:
        assert main([*COMMAND, f"callbacks.log_every_steps={LOGGED}", "trainer.fused_optimizer=true", *words]) == 0
    return [step for step, count in sorted(reads.by_step.items()) if count and step > 0]


@pytest.mark.slow
@pytest.mark.parametrize(
    "words",
    [[], ["trainer.precision=bf16-mixed"], ["+trainer.gradient_clip_val=1.0"]],
)
def test_only_logged_points_are_read(home, monkeypatch, reads, words):
    monkeypatch.setattr(ClassifierModule, "reads_late", True)
    assert read_at(reads, *words) == [5, 10, 15, 20]


@pytest.mark.slow
def test_on_a_cpu_each_loss_is_read_so_that_a_run_ends_at_the_step_that_failed(home, reads):
    assert read_at(reads) == [*range(1, 21)]


@pytest.mark.slow
@pytest.mark.parametrize("late, step", [(True, 5), (False, 3)])
def test_a_loss_that_is_nan_ends_the_run_there_or_at_the_next_logged_point(home, monkeypatch, capsys, late, step):
    """torchmetrics' MeanMetric leaves NaN out, so that the point would look sound."""
    real, steps = ClassifierModule.forward, []

    def spoilt(self, batch):
        steps.append(1)
        return real(self, batch) * (float("nan") if len(steps) == 3 else 1)

    monkeypatch.setattr(ClassifierModule, "reads_late", late)
    monkeypatch.setattr(ClassifierModule, "forward", spoilt)
    assert main([*COMMAND, f"callbacks.log_every_steps={LOGGED}"]) != 0
    assert "the loss is nan at step" in capsys.readouterr().err
    assert len(steps) == step


@pytest.mark.slow
def test_weights_that_are_nan_do_not_replace_the_last_good_checkpoint(home, monkeypatch, capsys):
    real, save, steps = ClassifierModule.forward, ResumePoint._save, []

    def spoilt(self, batch):
        steps.append(1)
        return real(self, batch) * (float("nan") if len(steps) == 3 else 1)

    def always_due(self, trainer, module, *others):
        if trainer.global_step % 10:
            save(self, trainer)

    monkeypatch.setattr(ClassifierModule, "reads_late", True)
    monkeypatch.setattr(ClassifierModule, "forward", spoilt)
    monkeypatch.setattr(ResumePoint, "on_train_batch_end", always_due)
    assert main([*COMMAND, f"callbacks.log_every_steps={LOGGED}"]) != 0
    assert "the loss is nan at step 3" in capsys.readouterr().err
    (last,) = home.rglob("last.ckpt")
    assert saved_step(last) == 2


def test_a_device_other_than_the_cpu_is_read_late():
    import lra

    module = lra.build_module(lra.compose("size=tiny", "attention=none"))
    assert not module.reads_late
    assert module.to("meta").reads_late


def test_the_mean_loss_is_that_of_torchmetrics_and_goes_on_from_its_checkpoints():
    from torchmetrics import MeanMetric

    ours, theirs = MeanLoss(), MeanMetric()
    theirs.persistent(True)
    for loss, examples in ((torch.tensor(0.7), 8), (torch.tensor(1.3), 8), (torch.tensor(2.9), 3)):
        ours.update(loss, examples)
        theirs.update(loss, weight=examples)
    assert ours.compute().equal(theirs.compute())
    resumed = MeanLoss()
    resumed.persistent(True)
    resumed.load_state_dict(theirs.state_dict())
    assert resumed.compute().equal(ours.compute())


@pytest.mark.slow
def test_points_of_a_run_that_reads_late_are_the_same(home, tmp_path, monkeypatch):
    rows = {}
    for late in (False, True):
        monkeypatch.setattr(ClassifierModule, "reads_late", late)
        assert main([*COMMAND, f"callbacks.log_every_steps={LOGGED}", f"run_group={late}"]) == 0
        (path,) = (home / str(late)).rglob("metrics.csv")
        rows[late] = [
            (row.get("train/loss"), row.get("train/accuracy"), row.get("dev/loss")) for row in read_curves(path)
        ]
    assert rows[True] == rows[False]
