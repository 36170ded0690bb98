"""Which methods `lra bench attention` measures: `all` means the same as in a sweep."""

from __future__ import annotations

import pytest

from lra import config
from lra.cli_support.bench_words import methods_to_measure
from lra.paths import conf_names

ATTENTIONS = {*conf_names("attention")} - {"full"}
MIXERS = {f"{name} + projections" for name in conf_names("mixer") if name != config.ATTENTION}


@pytest.mark.parametrize("words", [[], ["attention=all"]])
def test_all_are_every_attention_and_every_mixer_once(words):
    names = [method.name for method in methods_to_measure(words, packed=False)]
    assert sorted(names) == sorted({"full fused", "full math"} | ATTENTIONS | MIXERS)


def test_all_mixers_come_without_attentions():
    names = {method.name for method in methods_to_measure(["mixer=all"], packed=False)}
    assert names == {"full fused", "full math"} | MIXERS
