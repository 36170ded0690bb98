"""Mixers beside attentions in every verb: trained, shown, compared, evaluated, refused where they say nothing."""

import json
from pathlib import Path

import pytest
import torch
import yaml

from lra import from_config
from lra.base.paths import conf_names
from lra.cli import main
from lra.settings.compose import load_config
from lra.settings.run_config import ATTENTION
from lra.settings.stored_config import read_stored_config
from lra.tables.grid.cell import make_cells
from lra.training.cost.counting import count_work
from lra.types import UserError
from tests.pairs import each_and_all

WORDS = ("size=tiny", "recipe.steps=2", "recipe.eval_every=2", "logger=csv")
MIXERS = ("s4d", "gated")
EVERY = [name for name in conf_names("mixer") if name != ATTENTION]


def rows(made) -> list[str]:
    """The methods of the rows that a table hands back."""
    (shown,) = made.tables
    head, *_ = shown.table.csv_rows[0]
    return list(dict.fromkeys(row[head] for row in shown.table.csv_rows))


@pytest.fixture
def compared(home):
    """Records of Nyström attention and both mixers."""
    assert main(["compare", "run", "attention=nystrom", "mixer=s4d,gated", "seed=0", *WORDS]) == 0
    return home


@pytest.mark.slow
@pytest.mark.exhaustive
def test_mixers_are_rows_of_every_table_and_evaluated_to_the_last_digit(compared, result_of):
    shown = result_of("compare", "show", "size=tiny", "attention=nystrom", "mixer=s4d,gated")
    assert shown.tables[0].table.columns[0] == "method"
    assert rows(shown) == ["nystrom", "s4d", "gated"]
    records = {path.parts[-4]: path for path in compared.rglob("result.json")}
    assert records.keys() == {"nystrom", *MIXERS}
    for name in MIXERS:
        settings = json.loads(records[name].read_text())["settings"]
        assert settings["mixer"]["name"] == name
        assert "attention" not in settings
        assert result_of("evaluate", f"run={records[name].parent}").is_as_recorded
    assert rows(result_of("compare", "show", "size=tiny", "mixer=s4d", "format=csv")) == ["s4d"]
    both = result_of("table", "show", "size=tiny", "run_group=compare", "attention=nystrom", "mixer=s4d")
    assert rows(both) == ["nystrom", "s4d"]
    assert main(["report", "run_group=compare"]) == 0
    assert "s4d" in (compared / "compare/report.html").read_text()


@pytest.mark.slow
def test_a_run_says_how_to_type_the_full_one(home, capsys):
    assert main(["train", "mixer=gated", *WORDS]) == 0
    assert ": lra train task=listops mixer=gated\n" in capsys.readouterr().out


@pytest.mark.parametrize(
    "words",
    [
        ["train", "attention=full", "mixer=s4d"],
        ["train", "--config-dir", ".", "attention=full", "mixer=s4d"],
    ],
)
def test_an_attention_beside_a_mixer_says_nothing_and_is_refused(words, home, refused):
    Path("attention").mkdir()
    Path("attention/own.yaml").write_text("name: own\n")  # for --config-dir
    error = refused(*words)
    assert (error.kind, error.key) == ("no_effect", "attention")


@pytest.mark.slow
@pytest.mark.parametrize("words", [["mixer=attention", "attention=full"], ["mixer=s4d"], ["attention=full"]])
def test_what_says_something_is_not_refused(words, home, capsys):
    assert main(["show", "model", "size=tiny", *words]) == 0


def names(*words: str) -> list[str]:
    return [cell.choice("attention") + cell.varied_settings for cell in make_cells("compare", ["seed=0", *words])]


@pytest.mark.slow
def test_beside_each_other_or_in_place_of_the_sweeps_own():
    assert names("mixer=s4d,gated") == ["s4d", "gated"]
    assert names("mixer=s4d", "attention=full") == ["full", "s4d"]
    assert names("attention=nystrom", "attention.num_landmarks=16", "mixer=s4d") == [
        "nystrom num_landmarks=16", "s4d",
    ]  # fmt: skip
    both = names("attention=nystrom", "attention.num_landmarks=16,32", "mixer=s4d")
    assert sorted(both) == ["nystrom num_landmarks=16", "nystrom num_landmarks=32", "s4d"], "one cell of s4d"
    assert names("mixer=s4d", "mixer.states=16,64") == ["s4d states=16", "s4d states=64"]
    assert names("mixer=attention,s4d", "mixer.states=16", "attention=full") == ["full", "s4d states=16"]


@pytest.mark.slow
@pytest.mark.parametrize(
    "words, key, value",
    [
        (["mixer=s5"], "mixer", "s5"),
        (["mixer=s4d", "mixer.states=0"], "mixer.states", 0),
        (["mixer=s4d", "mixer.init=rand"], "mixer.init", "rand"),
        (["mixer=s4d", "mixer.step_least=0"], "mixer.step_least", 0),
        (["mixer=s4d", "mixer.step_most=inf"], "mixer.step_most", float("inf")),
        (
            ["mixer=s4d", "mixer.parameter_groups.dynamics.lr_fraction=-1"],
            "mixer.parameter_groups.dynamics.lr_fraction",
            -1,
        ),
        (["mixer=gated", "mixer.averages=0"], "mixer.averages", 0),
        (["mixer.states=64"], "mixer.states", None),
    ],
)
def test_wrong_settings_are_refused(words, key, value, home, refused):
    error = refused("train", *WORDS, *words)
    assert (error.key, error.value) == (key, value)


@pytest.mark.slow
@pytest.mark.parametrize("task, name", each_and_all(["listops", "text", "retrieval", "image", "pathfinder"], EVERY))
def test_parameters_stay_within_what_the_benchmark_allows(name, task, result_of):
    shown = result_of("show", "model", f"mixer={name}", f"task={task}")
    assert shown.parameters <= 1.1 * shown.full_parameters


@pytest.mark.slow
def test_a_mixer_that_has_many_is_said_to(result_of, capsys):
    shown = result_of("show", "model", "mixer=s4d", "mixer.states=256", "size=tiny")
    assert shown.parameters > 1.1 * shown.full_parameters
    assert "parameters against attention=full" in capsys.readouterr().out


def test_fourier_transforms_are_counted():
    x = torch.randn(3, 64, requires_grad=True)
    transforms = 3 * 2.5 * 64 * 6  # 5/2 n log n
    assert count_work(lambda: torch.fft.irfft(torch.fft.rfft(x))).flops == 2 * transforms
    x_2d = torch.randn(3, 8, 8)
    assert count_work(lambda: torch.fft.irfft2(torch.fft.rfft2(x_2d))).flops >= 2 * transforms
    forward_and_back = count_work(lambda: torch.fft.irfft(torch.fft.rfft(x)).sum().backward())
    assert forward_and_back.flops == 5 * transforms, "the gradient of the first is a complex one, of twice the work"


def stored(changes: dict[str, object]) -> dict:
    cfg = load_config("train", ["size=tiny", "mixer=s4d"]).all_plain()
    for key, value in changes.items():
        if value is None:
            del cfg["mixer"][key]
        else:
            cfg["mixer"][key] = value
    return cfg


@pytest.mark.parametrize(
    "changes, kind, key",
    [
        ({"states": None}, "missing_option", "mixer.states"),
        ({"hidden": 3}, "unknown_option", "mixer.hidden"),
        ({"states": "many"}, "wrong_value", "mixer.states"),
        ({"init": 3}, "unknown_choice", "mixer.init"),
        ({"_target_": "os.system"}, "unnamed_class", "mixer._target_"),
    ],
)
def test_a_stored_mixer_is_checked_like_an_attention(changes, kind, key, tmp_path):
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(stored(changes)))
    with pytest.raises(UserError) as refusal:
        read_stored_config(tmp_path)
    assert (refusal.value.kind, refusal.value.key) == (kind, key)
    assert str(tmp_path / "config.yaml") in str(refusal.value)


@pytest.mark.parametrize("changes", [{}, {"parameter_groups": None}, {"parameter_groups": {}}])
def test_a_stored_mixer_is_built_whatever_its_optimizer_was(changes, tmp_path):
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(stored(changes)))
    cfg = read_stored_config(tmp_path)
    from_config.build_module(cfg)


def test_they_take_the_place_of_every_attention_that_a_sweeps_file_names(home, capsys):
    assert main(["compare", "show", "sweep=probes", "task=lag", "mixer=s4d,gated", "model.positions=none"]) == 0
    assert "s4d seeds 0, 1, 2; gated seeds 0, 1, 2" in capsys.readouterr().out
