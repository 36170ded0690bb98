"""Every option is declared once, and a value outside its declared type is refused before anything is made."""

from typing import Any, Literal

import pytest

import lra
from lra.base.option_types import (
    Count,
    CountOrZero,
    Fraction,
    Positive,
    WrongValueError,
    allows,
    checked,
    choices_of,
    type_in_words,
)
from lra.base.paths import NO_OPTION_KEYS, conf_names
from lra.cli import main
from lra.settings.check_values import check_values
from lra.settings.compose import load_config
from lra.settings.declared import declared_types, group_options
from lra.settings.option_groups import GROUPS

CELLS = [
    *((f"attention={name}",) for name in conf_names("attention")),
    *((f"mixer={name}",) for name in conf_names("mixer") if name != "attention"),
    *((f"task={name}",) for name in conf_names("task")),
    *((f"protocol={name}",) for name in conf_names("protocol")),
    *((f"recipe={name}",) for name in conf_names("recipe") if "base" not in name),
    *((f"trainer={name}",) for name in conf_names("trainer")),
]
WITHOUT_TYPE = ("source", "paths", *NO_OPTION_KEYS)  # any text
DECLARED = ["", *(group for group in GROUPS if group not in ("paths", "logger.wandb"))]


@pytest.mark.some_fast(7)
@pytest.mark.parametrize("words", CELLS, ids=str)
def test_every_option_of_our_files_is_declared_and_right(words):
    cfg = load_config("train", words)
    check_values(cfg, classes=True)
    for group in (*DECLARED, *(part for part in ("attention", "mixer", "model") if cfg.has(part))):
        node = (cfg.value(group) if group else cfg.all_plain()) or {}
        kinds = group_options(cfg.composed, group).kinds
        leaves = [name for name, value in node.items() if not isinstance(value, dict)]
        assert [name for name in leaves if name not in (*kinds, *WITHOUT_TYPE)] == []


@pytest.mark.parametrize(
    ("word", "key"),
    [
        ("attention.pinv=exakt", "attention.pinv"),
        ("attention.num_landmarks=0", "attention.num_landmarks"),
        ("attention.num_landmarks=32.0", "attention.num_landmarks"),
        ("attention.num_landmarks=true", "attention.num_landmarks"),
        ("attention.pinv_rtol=1", "attention.pinv_rtol"),
        ("attention.exact_when_short=yes", "attention.exact_when_short"),
        ("attention=performer attention.kernel=elu", "attention.kernel"),
        ("mixer=s4d mixer.init=rand", "mixer.init"),
        ("protocol.pooling=mean", "protocol.pooling"),
        ("protocol.text_length=500", "protocol.text_length"),
        ("protocol.batch_constant_examples=0", "protocol.batch_constant_examples"),
        ("model.dropout=1", "model.dropout"),
        ("model.packed=maybe", "model.packed"),
        ("task=pathfinder task.difficulty=harder", "task.difficulty"),
        ("task.dev_split=train", "task.dev_split"),
        ("recipe.steps=1", "recipe.steps"),
        ("recipe.optimizer.betas=[0.9,1]", "recipe.optimizer.betas"),
        ("recipe.optimizer.lr=inf", "recipe.optimizer.lr"),
        ("recipe.schedule.warmup_fraction=0", "recipe.schedule.warmup_fraction"),
        ("trainer.precision=8bit", "trainer.precision"),
        ("trainer.accumulate_grad_batches=some", "trainer.accumulate_grad_batches"),
        ("logger.wandb.mode=cloud", "logger.wandb.mode"),
        ("debug.profiler=deep", "debug.profiler"),
        ("seed=-1", "seed"),
        ("compile=1", "compile"),
        ("callbacks=early_stopping callbacks.early_stopping.patience=many", "callbacks.early_stopping.patience"),
        ("++recipe.parameter_groups.biases.weight_decay=-1", "recipe.parameter_groups.biases.weight_decay"),
        ("+trainer.gradient_clip_val=0", "trainer.gradient_clip_val"),
    ],
)
def test_a_wrong_value_is_refused_by_its_key(word, key):
    with pytest.raises(WrongValueError) as refused:
        lra.compose(*word.split())
    assert refused.value.key == key


@pytest.mark.parametrize(("group", "content"), [("attention", "defaults: [nystrom]\nname: mine\npinv: exakt\n")])
def test_a_file_of_ones_own_is_checked_before_data_is_made(group, content, home, tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LRA_DATA_DIR", str(tmp_path / "data"))
    (tmp_path / "conf" / group).mkdir(parents=True)
    (tmp_path / "conf" / group / "mine.yaml").write_text(content)
    words = ("size=tiny", "logger=csv", f"{group}=mine", "--config-dir", str(tmp_path / "conf"))
    assert main(["train", *words]) == 2
    assert "pinv=exakt" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()


@pytest.mark.parametrize(
    ("kind", "right", "wrong"),
    [
        (Count, (1, 2**31 - 1), (0, 2**31, 1.0, True, "1", None)),
        (CountOrZero | None, (0, None), (-1, "null")),
        (Fraction, (0, 0.5), (1, -0.1, float("nan"), "0.5", False)),
        (Positive, (1e-9, 3), (0, float("inf"), float("nan"))),
        (Literal["a", 1], ("a", 1), ("b", True, 1.0)),
        (bool | Literal["fast"], (True, "fast"), (1, "true")),
        (tuple[Fraction, Fraction], ([0.9, 0.999],), ([0.9], [0.9, 1], 0.9)),
        (Any, (1, "a"), ()),
    ],
    ids=lambda case: "" if isinstance(case, tuple) or case is Any else type_in_words(case),
)
def test_a_declared_type_allows_what_it_says(kind, right, wrong):
    assert [value for value in right if not allows(kind, value)] == []
    assert [value for value in wrong if allows(kind, value)] == []


def test_the_words_of_a_type_are_those_of_its_parts():
    assert type_in_words(Count | Literal["auto"] | None) == f"{type_in_words(Count)} or auto or null"
    assert len({type_in_words(kind) for kind in (int, float, Count, CountOrZero, Fraction, Positive)}) == 6
    assert choices_of(bool | Literal["fast"] | None) == (False, True, "fast", None)
    assert choices_of(Count | None) == ()


class Owner:
    @checked
    def __init__(self, first, *, count: Count, word: Literal["a", "b"] = "a"):
        self.held = first, count, word


def test_a_checked_constructor_keeps_its_signature_and_refuses():
    assert Owner(1, count=2).held == (1, 2, "a")
    assert list(declared_types(Owner)[0]) == ["first", "count", "word"]
    with pytest.raises(WrongValueError) as refused:
        Owner(1, count=2, word="c")
    assert (refused.value.key, refused.value.value) == ("word", "c")
