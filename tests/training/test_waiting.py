"""A training step in the padded form, which a GPU takes, never waits for the device: every task, attention and mixer.

A wait costs more than the wait itself: while the host waits it launches nothing, and the GPU is idle after.
"""

from __future__ import annotations

import pytest
import torch

from lra import build
from lra.settings import config
from lra.types import Batch
from tests.attention.test_contract import NAMES
from tests.mixers.test_tasks import MIXERS
from tests.pairs import each_and_all
from tests.training.waiting import DEVICE, WaitsError, without_waiting

TASKS = ("listops", "text", "retrieval", "image", "pathfinder", "pathx")
CHOICES = [
    *(["attention=nystrom", f"attention.landmark_rule={rule}"] for rule in ("strided", "random", "kmeans")),
    ["attention=nystrom", "attention.landmark_source=keys", "attention.pinv=regularised"],
    ["attention=nystrom", "attention.coarse_landmarks=8", "attention.pinv=regularised"],
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


def step(words: list[str], *, steps: int = 1) -> None:
    """Train steps as a run does: loss, gradients, optimizer, schedule, metrics."""
    cfg = config.load_config("train", ["size=tiny", "model.num_layers=1", *words])
    if "pinv_iterations" in cfg.attention:
        cfg.attention.pinv_iterations = 1  # for speed: operators of meta tensors are slow
    module, spec = build.build_module(cfg).train(), build.build_spec(cfg)
    module.to(DEVICE)
    tokens = torch.ones(2, spec.num_sequences, spec.seq_len, dtype=torch.long, device=DEVICE)
    batch = Batch(tokens, tokens != 0 if cfg.task.mask_zero else None, tokens[:, 0, 0])
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
@pytest.mark.parametrize("task, method", each_and_all(TASKS, METHODS))
def test_a_step_does_not_wait(task, method):
    step([f"task={task}", method])


@pytest.mark.slow
@pytest.mark.parametrize("words", CHOICES, ids=" ".join)
def test_a_step_with_other_choices_does_not_wait(words):
    step(words)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_a_step_by_the_paper_s_equations_does_not_wait(method):
    step(["protocol=clean", method])


@pytest.mark.parametrize("words", WAITS)
def test_what_waits_is_known(words):
    with pytest.raises((WaitsError, NotImplementedError)):
        step(words.split(), steps=2)


def test_a_dev_batch_does_not_wait():
    cfg = config.load_config("train", ["size=tiny", "attention=nystrom"])
    module = build.build_module(cfg).eval().to(DEVICE)
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
