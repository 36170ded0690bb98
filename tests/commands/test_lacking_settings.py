"""A setting that only some choices of a sweep have: one line that says which lacks it, and what that one has."""

from __future__ import annotations

import re

import pytest

from lra.cli import main
from lra.cli_support.campaign import Campaign

SIZE = "size=tiny"
OF_GATED = (
    "mixer.states=16 is no setting of mixer=gated, which has averages: leave mixer=gated or mixer.states=16 out",
    ("mixer=s4d,gated", "mixer.states=16"),
)
OF_FULL = (
    "attention.num_landmarks=16 is no setting of attention=full, which has kernel, attention_dropout:"
    " leave attention=full or attention.num_landmarks=16 out",
    ("attention=nystrom,full", "attention.num_landmarks=16"),
)
VERBS = (["train", "-m"], ["compare", "run"], ["compare", "show"], ["table", "plan"])


@pytest.mark.slow
@pytest.mark.parametrize("verb", VERBS, ids=" ".join)
@pytest.mark.parametrize("line, words", [OF_GATED, OF_FULL], ids=["mixers", "attentions"])
def test_a_sweep_over_what_lacks_it_is_refused_before_anything_runs(verb, line, words, home, capsys):
    choices, setting = words
    group, first, second = re.split("[=,]", choices)
    for order in (choices, f"{group}={second},{first}"):
        assert main([*verb, SIZE, order, setting]) == 2
        assert capsys.readouterr().err == f"lra: {line}\n"
    assert not list(home.rglob("*"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "words, line",
    [
        (["compare", "run", "attention.num_landmarks=16"], OF_FULL[0]),
        (["train", "sweep=compare", "attention.num_landmarks=16"], OF_FULL[0]),
        (
            ["sweep", "landmarks", "attention=full"],
            "attention.num_landmarks is no setting of attention=full, which has",
        ),
        (["table", "plan", "attention=full,none", "attention.kernel=math"], "attention=none, which has none: leave"),
        (
            ["table", "plan", "attention=none,linformer,full", "attention.kernel=math"],
            "attention=none, which has none; nor of attention=linformer, which has projections, sharing: leave these",
        ),
        (["train", "mixer=gated", "mixer.states=16"], "no setting of mixer=gated, which has averages; lra train --cfg"),
        (["train", "-m", "mixer=s4d,attention", "mixer.states=16"], "says nothing beside mixer=attention"),
        (["train", "mixer=gated", "mixer.average=16"], "did you mean mixer.averages?"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_also_where_the_sweeps_file_or_a_single_word_chooses(words, line, home, capsys):
    assert main([*words, SIZE]) == 2
    (said,) = capsys.readouterr().err.splitlines()
    assert line in said
    assert not list(home.rglob("*"))


@pytest.mark.slow
def test_a_mixers_setting_may_stand_beside_an_attention_in_a_comparison():
    cells = Campaign("compare", [SIZE, "mixer=attention,s4d", "mixer.states=16", "seed=0", "attention=full"]).cells
    assert [cell.choice("attention") + cell.apart for cell in cells] == ["full", "s4d states=16"]
