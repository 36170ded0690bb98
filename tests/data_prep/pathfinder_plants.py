"""Generators of Pathfinder images that are wrong on purpose: tests that compare images must tell them apart."""

import random
from functools import lru_cache

import numpy as np
import pytest

from data_prep.pathfinder import field, generator
from data_prep.pathfinder.field import Contour, Field, FreeArea


def any_orientation(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every orientation can begin a contour: 4.7 distractors at 32 × 32 instead of 1.15."""
    monkeypatch.setattr(FreeArea, "_can_begin", lambda self, degrees: True)
    monkeypatch.setattr(generator, "_first_starts", lru_cache(None)(generator._first_starts.__wrapped__))
    monkeypatch.setattr(field, "free_area_of", lru_cache(None)(FreeArea))  # it keeps the answers that it has given


def fitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Version 1.0.0: any orientation; a distractor is tried once, from where a paddle has no room, one trial each."""
    any_orientation(monkeypatch)
    monkeypatch.setattr(generator, "_distractor", _from_a_crowded_place)


def _from_a_crowded_place(ground: Field, rng: random.Random) -> Contour | None:
    free, pixels = ground.free(1), ground.design.side**2
    with pytest.MonkeyPatch.context() as one_trial:
        one_trial.setattr(field, "TRIALS", 1)
        contour = ground.begin(
            rng, lambda degrees: np.setdiff1d(np.arange(pixels), ground.free_area.starts(degrees, free))
        )
        before = ground.snapshot()
        if contour is None:
            return None
        if all(ground.extend(rng, contour) for _ in range(ground.design.distractor_length - 1)):
            ground.settle(contour)
            return contour
        ground.restore(before)
    return None
