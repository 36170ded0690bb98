"""A small network that is asked which images are the original's: it must not know, unless a generator is wrong."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn import functional

from data_prep.pathfinder.designs import pathfinder32
from data_prep.pathfinder.generator import generate
from tests.data_prep.pathfinder_plants import any_orientation, fitted
from tests.data_prep.test_pathfinder_generator import SAMPLES

FOLDS, EPOCHS, BATCH, CHANNELS = 5, 12, 16, 12
GUESS, ERROR = 0.5, 0.5 / 800**0.5  # standard error of 800 guesses: .018


def ours(monkeypatch: pytest.MonkeyPatch) -> None:
    """The generator as it is."""


def network() -> nn.Sequential:
    """Three layers of convolutions; the mean over all places at the end, since a shape matters and not where it is."""

    def layer(inputs: int, outputs: int) -> list[nn.Module]:
        return [nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU()]

    return nn.Sequential(
        *layer(1, CHANNELS),
        nn.MaxPool2d(2),
        *layer(CHANNELS, 2 * CHANNELS),
        nn.MaxPool2d(2),
        *layer(2 * CHANNELS, 4 * CHANNELS),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Dropout(0.3),
        nn.Linear(4 * CHANNELS, 1),
    )


def train(theirs: torch.Tensor, mine: torch.Tensor) -> nn.Sequential:
    """A network trained on images `[n, 1, 32, 32]` of both, half of each batch from either."""
    model, steps = network(), EPOCHS * (2 * len(theirs) // (2 * BATCH))
    optimizer = torch.optim.AdamW(model.parameters(), weight_decay=0.01)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 6e-3, total_steps=steps)
    is_original = torch.cat([torch.ones(BATCH), torch.zeros(BATCH)])
    for _ in range(steps):
        batch = torch.cat([images[torch.randint(len(images), (BATCH,))] for images in (theirs, mine)])
        loss = functional.binary_cross_entropy_with_logits(model(batch)[:, 0], is_original)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
    return model.eval()


def accuracy(theirs: np.ndarray, mine: np.ndarray) -> float:
    """Share of held-out images that networks assign rightly, over all folds."""
    torch.manual_seed(0)
    both = [torch.tensor(images / 255 * 4 - 0.3, dtype=torch.float32)[:, None] for images in (theirs, mine)]
    fold_of = torch.randperm(len(theirs)) % FOLDS
    right = 0
    for fold in range(FOLDS):
        model = train(*(images[fold_of != fold] for images in both))
        with torch.no_grad():
            as_original, as_ours = (model(images[fold_of == fold])[:, 0] > 0 for images in both)
        right += int(as_original.sum() + (~as_ours).sum())
    return right / (2 * len(theirs))


@pytest.mark.slow
@pytest.mark.some_in_ci(1)
@pytest.mark.parametrize(
    "plant, known",
    [(ours, False), (fitted, True), (any_orientation, True)],
    ids=["ours", "version 1.0.0", "no rule of orientations"],
)
def test_a_network_tells_wrong_generators_from_the_original_and_not_ours(
    monkeypatch, plant: Callable[[pytest.MonkeyPatch], None], known
):
    """Measured: 51, 68 and 98 % of 800 images are assigned rightly; a guess is 50 ± 1.8 %."""
    with np.load(SAMPLES, allow_pickle=False) as samples:
        theirs = samples["images"]
    plant(monkeypatch)
    mine = np.stack([generate(pathfinder32("hard"), 0, number)[0] for number in range(len(theirs))])
    share_right = accuracy(theirs, mine)
    print(f"{plant.__name__}: {share_right:.3f}")
    assert (share_right > GUESS + 4 * ERROR) if known else (abs(share_right - GUESS) < 3 * ERROR), share_right
