"""A schedule takes no learning rate and no momentum away that the recipe or a parameter group sets."""

import pytest
import torch
from torch.optim.lr_scheduler import CyclicLR, LambdaLR, LRScheduler

from lra import from_config
from lra.base.option_types import as_typed
from lra.settings.compose import load_config
from lra.training.schedule_check import make_checked_schedule
from lra.types import UserError

WITHOUT = ("~recipe.schedule.steps", "~recipe.schedule.warmup_fraction")
TORCHS = "recipe.schedule._target_=torch.optim.lr_scheduler"
ONE_CYCLE = (f"{TORCHS}.OneCycleLR", *WITHOUT, "+recipe.schedule.total_steps=${recipe.steps}")
CYCLIC = (f"{TORCHS}.CyclicLR", *WITHOUT, "+recipe.schedule.base_lr=1e-5")
COSINE = ("recipe.schedule._target_=lra.training.schedule.cosine", "+recipe.schedule.trained_fraction=1")
OTHERS = [
    (),
    COSINE,
    (f"{TORCHS}.CosineAnnealingLR", *WITHOUT, "+recipe.schedule.T_max=${recipe.steps}"),
    (f"{TORCHS}.ReduceLROnPlateau", *WITHOUT),
    (f"{TORCHS}.LinearLR", *WITHOUT, "+recipe.schedule.start_factor=0.1"),
]
SGD = ("recipe.optimizer._target_=torch.optim.SGD", "~recipe.optimizer.betas", "~recipe.optimizer.eps")
RATE = "recipe.optimizer.lr=5.56e-4"
OWN_RATE = '+recipe.parameter_groups.biases={match: "bias$", lr: 0.5}'


def groups_of(*words: str) -> list[dict]:
    cfg = load_config("train", ["size=tiny", *words])
    return from_config.build_module(cfg).configure_optimizers()["optimizer"].param_groups


def peak(value: object) -> str:
    return f"+recipe.schedule.max_lr={value}"


@pytest.mark.parametrize("schedule", [ONE_CYCLE, CYCLIC])
@pytest.mark.parametrize(
    "words, rates",
    [
        (("mixer=s4d", RATE, peak(5.56e-4)), [5.56e-4, 1.39e-4]),
        (("mixer=s4d", RATE, peak("${recipe.optimizer.lr}")), [5.56e-4, 1.39e-4]),
        ((OWN_RATE, peak(1e-4)), [1e-4, 0.5]),
        (("mixer=s4d", RATE, peak("[1e-3,1e-3]")), [5.56e-4, 1.39e-4]),
        ((peak(0.01),), 1e-4),
    ],
    ids=str,
)
def test_a_schedule_that_names_its_peak_needs_that_of_each_group(schedule, words, rates):
    with pytest.raises(UserError) as error:
        groups_of(*words, *schedule)
    assert (error.value.kind, error.value.key) == ("no_effect", "recipe.schedule.max_lr")
    assert error.value.right == f"++recipe.schedule.max_lr={as_typed(rates)}"
    groups = groups_of(*words, *schedule, str(error.value.right))
    if schedule is ONE_CYCLE:
        assert [group["max_lr"] for group in groups] == pytest.approx(rates if isinstance(rates, list) else [rates])


def test_a_peak_may_be_the_recipes_rate_or_rise_from_it():
    assert groups_of(*ONE_CYCLE, peak("${recipe.optimizer.lr}"))[0]["max_lr"] == 1e-4
    assert groups_of(*ONE_CYCLE, peak(0.01), "recipe.optimizer.lr=0.01")[0]["max_lr"] == 0.01
    assert groups_of(*CYCLIC, peak(1e-3), "recipe.optimizer.lr=1e-5")[0]["lr"] == 1e-5


@pytest.mark.parametrize("schedule", OTHERS, ids=str)
def test_schedules_that_multiply_the_rates_are_taken_for_groups_of_several(schedule):
    groups = groups_of("mixer=s4d", *schedule)
    rates = [group["initial_lr"] if "initial_lr" in group else group["lr"] for group in groups]
    assert rates[1] / rates[0] == pytest.approx(0.25)


def test_it_is_refused_before_data_is_made_or_a_run_begins(home, refused, tmp_path, monkeypatch):
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    error = refused("train", "size=tiny", "logger=csv", "mixer=s4d", *ONE_CYCLE, peak(1e-4))
    assert (error.kind, error.key) == ("no_effect", "recipe.schedule.max_lr")
    assert not home.exists()
    assert not (tmp_path / "data").exists()


class OneRate(LRScheduler):
    """A schedule of a user's own, which gives every group the first one's rate."""

    def get_lr(self) -> list[float]:
        return [self.base_lrs[0]] * len(self.base_lrs)


def two_groups() -> torch.optim.Optimizer:
    first, second = (torch.nn.Parameter(torch.zeros(1)) for _ in range(2))
    return torch.optim.AdamW([{"params": [first], "lr": 1e-3}, {"params": [second], "lr": 1e-4}])


@pytest.mark.parametrize(
    "make, refused",
    [
        (OneRate, True),
        (lambda optimizer: LambdaLR(optimizer, lambda step: step / 10), False),
        (lambda optimizer: LambdaLR(optimizer, [lambda _: 0.5, lambda _: 0.1]), False),
        (lambda optimizer: CyclicLR(optimizer, 1e-6, [1e-3, 1e-4]), False),
        (lambda optimizer: CyclicLR(optimizer, 1e-6, 1e-3), True),
    ],
)
def test_schedules_of_ones_own_are_held_to_it_too(make, refused):
    if not refused:
        make_checked_schedule(make, two_groups(), options={}, usual_beta=0.9)
        return
    with pytest.raises(UserError) as error:
        make_checked_schedule(make, two_groups(), options={}, usual_beta=0.9)
    assert (error.value.kind, error.value.key, error.value.value) == ("no_effect", "recipe.optimizer.lr", 1e-3)


@pytest.mark.parametrize(
    "words, key, value, torchs",
    [
        (("recipe.optimizer.betas=[0.8,0.99]",), "betas", 0.8, False),
        ((*SGD, "+recipe.optimizer.momentum=0.8"), "momentum", 0.8, False),
        ((*SGD, "+recipe.optimizer.momentum=0.8", *ONE_CYCLE, peak(1e-4)), "momentum", 0.8, True),
        (("recipe.optimizer.betas=[0.8,0.99]", *CYCLIC, peak(1e-4)), "betas", 0.8, True),
        (('+recipe.parameter_groups.biases={match: "bias$", betas: [0.5,0.9]}',), "betas", 0.5, False),
    ],
    ids=str,
)
def test_a_chosen_momentum_that_the_schedule_moves_is_refused(words, key, value, torchs):
    with pytest.raises(UserError) as error:
        groups_of(*words)
    assert (error.value.kind, error.value.key, error.value.value) == ("no_effect", f"recipe.optimizer.{key}", value)
    groups = groups_of(*words, *str(error.value.right).split())
    kept = [group[key][0] if key == "betas" else group[key] for group in groups]
    assert value in kept
    assert torchs is ("cycle_momentum" in str(error.value.right))


def test_what_nobody_has_chosen_is_the_schedules():
    assert groups_of()[0]["betas"] == (0.95, 0.999)
    assert groups_of("recipe.optimizer.betas=[0.9,0.5]")[0]["betas"] == (0.95, 0.5)
    assert groups_of(*SGD)[0]["momentum"] == 0.95
    assert groups_of("recipe.optimizer.betas=[0.8,0.5]", "protocol=s4", "task=listops")[0]["betas"] == (0.8, 0.5)
