"""Which methods `lra bench attention` measures: `all` means the same as in a sweep."""

import pytest

from lra.base.overrides import Overrides
from lra.base.paths import conf_names
from lra.settings.compose import load_config
from lra.settings.run_config import ATTENTION
from lra.tools.bench.bench_overrides import methods_to_measure
from lra.tools.bench.peers import PEERS

ATTENTIONS = {*conf_names("attention")} - {"full"}
MIXERS = {f"{name} + projections" for name in conf_names("mixer") if name != ATTENTION}


@pytest.mark.slow
@pytest.mark.parametrize("overrides", [[], ["protocol=clean"], ["attention=all"]])
def test_all_are_every_attention_and_every_mixer_once(overrides):
    names = [method.name for method in methods_to_measure(Overrides(overrides), packed=False)]
    of_table_1 = set() if "attention=all" in overrides else {"nystrom (num_landmarks=32)"}
    assert sorted(names) == sorted({"full fused", "full math"} | ATTENTIONS | MIXERS | of_table_1)


@pytest.mark.slow
def test_all_mixers_come_without_attentions():
    names = {method.name for method in methods_to_measure(Overrides(["mixer=all"]), packed=False)}
    assert names == {"full fused", "full math"} | MIXERS


def test_each_peer_is_measured_beside_the_method_whose_outputs_equal_its_own():
    chosen = methods_to_measure(Overrides(["attention=nystrom,performer"]), packed=False, peers=PEERS)
    methods = {method.name: method.settings for method in chosen}
    added = {"linformer (protocol=paper)", "performer (protocol=clean)", "local (block_length=128, neighbour_blocks=1)"}
    assert methods.keys() == {"full fused", "full math", "nystrom", "performer", *added}
    for overrides in (peer.ours for peer in PEERS if peer.ours):
        assert load_config("train", overrides).mixer_settings in methods.values()
