"""The schedule of short runs, and what a precision's name promises."""

import math

import pytest
import torch
from torch.optim import AdamW

from lra.cli import main
from lra.training.schedule import cosine, one_cycle


def rates(steps: int, warmup_fraction: float) -> list[float]:
    optimizer = AdamW([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = one_cycle(optimizer, steps=steps, warmup_fraction=warmup_fraction)
    found = []
    for _ in range(steps):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found


@pytest.mark.parametrize("steps", [2, 3, 5, 10, 49, 1000])
def test_a_warm_up_of_one_step_begins_at_the_peak(steps):
    found = rates(steps, 1 / steps)
    assert found[0] == pytest.approx(1, abs=1e-5)
    assert found == sorted(found, reverse=True)
    assert found[-1] == pytest.approx(0, abs=1e-5)


@pytest.mark.parametrize("steps", [2, 3, 5, 7, 50])
@pytest.mark.parametrize("fraction", [0.005, 0.1, 0.2, 0.5, 0.9, 0.999])
def test_every_short_schedule_stays_between_zero_and_the_peak(steps, fraction):
    assert all(0 <= rate <= 1 for rate in rates(steps, fraction))


def test_a_warm_up_of_two_steps_is_torchs_own():
    assert rates(10, 0.2)[:3] == pytest.approx([0.04, 1.0, 0.875])


@pytest.mark.slow
def test_a_run_of_two_steps_and_one_with_a_warm_up_of_one_step_give_results(home):
    for words in (["recipe.steps=5", "recipe.eval_every=5"], ["recipe.steps=2", "run_group=2024"]):
        assert main(["train", "size=tiny", "logger=csv", "attention=full", *words]) == 0
    assert {path.relative_to(home).parts[0] for path in home.rglob("result.json")} == {"default", "2024"}


@pytest.mark.slow
@pytest.mark.parametrize(
    "precision, parameters, inside, outside",
    [
        ("32-true", torch.float32, torch.float32, torch.float32),
        ("bf16-mixed", torch.float32, torch.bfloat16, torch.float32),
        ("64-true", torch.float64, torch.float64, torch.float64),
    ],
)
def test_a_precision_is_what_its_name_says(home, monkeypatch, precision, parameters, inside, outside):
    from lra.training.module import ClassifierModule

    seen = set()
    step = ClassifierModule.training_step

    def watched(self, batch, number):
        logits = self.model(batch.tokens, batch.valid)
        seen.add((next(self.model.parameters()).dtype, logits.dtype, self(batch).dtype))
        return step(self, batch, number)

    monkeypatch.setattr(ClassifierModule, "training_step", watched)
    words = ("size=tiny", "logger=csv", "attention=full", "recipe.steps=2", f"trainer.precision={precision}")
    assert main(["train", *words]) == 0
    assert seen == {(parameters, inside, outside)}


def test_half_precision_on_a_cpu_is_refused_as_torch_would_compute_another(home, refused):
    error = refused("train", "size=tiny", "logger=csv", "trainer.precision=16-mixed")
    assert (error.kind, error.key) == ("needs_gpu", "trainer.precision")
    assert not home.exists()


def test_the_cosine_warms_up_from_zero_and_ends_at_zero_or_before():
    found = cosine_rates(steps=100, warmup_fraction=0.1, trained_fraction=1.0)
    assert found[:11] == pytest.approx([k / 10 for k in range(11)])
    for k in range(10, 100):
        assert found[k] == pytest.approx((1 + math.cos(math.pi * (k - 10) / 90)) / 2)
    part = cosine_rates(steps=80, warmup_fraction=0.1, trained_fraction=0.8)
    assert part == pytest.approx(found[:80]), "the run ends before its schedule"


def cosine_rates(**options: float) -> list[float]:
    optimizer = AdamW([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    schedule = cosine(optimizer, **options)
    found = []
    for _ in range(int(options["steps"])):
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        schedule.step()
    return found
