"""Points are drawn once from the space, whatever the method and the budget."""

from collections import defaultdict

import pytest

from lra.settings.compose import load_config
from lra.tables.grid.cell import make_cells, space_of
from lra.tables.grid.space import Space
from lra.types import UserError
from tests.tables.grid.trials import WORDS

RATE = "recipe.optimizer.lr"


def test_trial_k_of_every_method_has_the_same_point_and_a_larger_budget_goes_on_from_a_smaller_one():
    points = defaultdict(set)
    for cell in make_cells("tune", [*WORDS, "mixer=s4d", "budget=4"]):
        points[cell.trial].add(cell.point)
    assert {trial: len(same) for trial, same in points.items()} == dict.fromkeys(range(4), 1)
    assert len(set.union(*points.values())) == 4
    fewer, more = (make_cells("tune", [*WORDS, f"budget={budget}"]) for budget in (2, 4))
    assert [cell.overrides for cell in fewer] == [cell.overrides for cell in more][:4]
    assert [(cell.trial, cell.choice("attention")) for cell in fewer] == [
        (0, "nystrom"), (0, "full"), (1, "nystrom"), (1, "full"),
    ]  # fmt: skip


def test_the_numbers_of_a_space_stay_those_of_its_seed():
    """Other numbers would be other trials: of a search that is begun, all would be run again."""
    space = Space({"b": "interval(0, 1)", "a": "tag(log, int(interval(1, 64)))", "c": "tag(drawn, choice(x, y))"}, 7)
    assert space.points(2) == [{"a": 2, "b": 0.151, "c": "y"}, {"a": 1, "b": 0.536, "c": "x"}]
    assert (
        space.hash == Space({"c": "tag(drawn, choice(x, y))", **space.options}, 7).hash != Space(space.options, 8).hash
    )


def test_draws_are_uniform_in_the_unit_that_is_asked_for():
    space = Space(
        {"log": "tag(log, interval(1e-4, 1e-2))", "plain": "interval(1, 3)", "whole": "int(interval(1, 3))"}, 0
    )
    points = space.points(2000)
    assert sum(point["log"] < 1e-3 for point in points) == pytest.approx(1000, abs=100)
    assert sum(point["plain"] < 2 for point in points) == pytest.approx(1000, abs=100)
    assert all(1e-4 <= point["log"] <= 1e-2 for point in points)
    counts = [sum(point["whole"] == number for point in points) for number in (1, 2, 3)]
    assert counts == pytest.approx([667] * 3, abs=80)
    assert sum(counts) == 2000


@pytest.mark.parametrize("size, rate", [("tiny", 1e-4), ("short", 1e-3)])
def test_the_rate_is_in_units_of_the_recipes(size, rate):
    cells = make_cells("tune", ["task=listops", "attention=full", f"size={size}", "budget=20"])
    rates = [cell.cfg.recipe.optimizer.lr / rate for cell in cells]
    assert min(rates) < 1 < max(rates)
    assert all(0.1 <= each <= 10 for each in rates)
    space = space_of("tune", [])
    assert rates == pytest.approx([point[RATE] for point in space.points(20)], rel=0.01)
    assert load_config("train", ["task=listops", f"size={size}"]).recipe.optimizer.lr == rate


def test_what_is_typed_replaces_an_interval_of_the_space():
    assert space_of("tune", WORDS).options.keys() == {RATE, "model.dropout"}
    other = space_of("tune", [*WORDS, f"{RATE}=interval(1e-3, 2e-3)"])
    assert other.options[RATE] == "interval(1e-3, 2e-3)"
    assert all(1e-3 <= point[RATE] <= 2e-3 for point in other.points(9))
    assert other.hash != space_of("tune", WORDS).hash
    assert not space_of("compare", []).options


@pytest.mark.parametrize(
    "values", ["interval(2, 1)", "tag(log, interval(0, 1))", "tag(logarithmic, interval(1, 2))", "interval(0, inf)"]
)
def test_what_is_no_interval_is_refused(values):
    with pytest.raises(UserError) as caught:
        Space({"a": values}, 0).points(1)
    assert (caught.value.kind, caught.value.key) == ("wrong_value", "a")


def test_what_is_drawn_from_a_narrow_interval_lies_in_it():
    values = [point["a"] for point in Space({"a": "interval(0.999, 0.9999)"}, 0).points(100)]
    assert all(0.999 <= value <= 0.9999 for value in values)
    assert len(set(values)) > 90
    space = Space({"recipe.optimizer.lr": "tag(times, interval(0.999, 0.9999))"}, 0)
    cfg = load_config("train", ["recipe.optimizer.lr=0.003"])
    rates = [float(word.partition("=")[2]) for point in space.points(100) for word in space.overrides(point, cfg)]
    assert all(0.002997 <= rate <= 0.0029997 for rate in rates)
    assert len(set(rates)) > 80


@pytest.mark.parametrize(
    "word", ["attention.num_landmarks=tag(drawn, range(2, 5))", "attention=tag(drawn, choice(full, nystrom))"]
)
def test_ranges_and_names_of_a_config_group_are_not_drawn(word):
    with pytest.raises(UserError) as caught:
        make_cells("tune", ["task=listops", "size=tiny", "attention=nystrom", word])
    assert (caught.value.kind, caught.value.key) == ("wrong_value", word.split("=")[0])


def test_the_trials_have_one_seed_which_no_table_has():
    assert {cell.cfg.seed for cell in make_cells("tune", [*WORDS, "budget=1"])} == {1000}
    with pytest.raises(UserError) as caught:
        make_cells("tune", [*WORDS, "seed=0,1"])
    assert caught.value.key == "seed"
    for sweep in ("paper_table", "s4_table", "compare", "landmarks"):
        assert all(cell.choice("seed") != "1000" for cell in make_cells(sweep, []))


def test_estimates_are_of_a_method_and_not_of_each_of_its_points():
    kinds = {cell.kind for cell in make_cells("tune", [*WORDS, "budget=3"])}
    assert len(kinds) == 2
