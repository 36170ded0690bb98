"""The promises of every sequence mixer, for each file in conf/mixer.

The promises themselves are in `lra.tools.testing`, where `lra check` finds them too. A mixer with a YAML file is tested
without another edit here, but a file in tests/reference must have its slow twin under the same name.
"""

from functools import cache

import pytest
import torch
from hydra.utils import get_object

from lra import from_config
from lra.base.option_types import as_typed
from lra.base.paths import conf_names, read_choice
from lra.model.mixer import MixerDims, SequenceMixer
from lra.settings.compose import load_config
from lra.settings.declared import declared_types
from lra.settings.run_config import ATTENTION
from lra.tools.testing import contract
from lra.tools.testing.subjects import HEADS, MixerSubject
from tests.attention.test_contract import words_of
from tests.reference import twin

NAMES = conf_names("mixer")
ATTENTIONS = [("attention=full",), ("attention=nystrom", "protocol=clean"), ("attention=none",)]  # a sample of them


def every_choice(name: str) -> list[tuple[str, ...]]:
    """What the YAML file says, and each declared choice of each option in turn."""
    if name == ATTENTION:
        return ATTENTIONS
    file = read_choice("mixer", name)
    kinds, _ = declared_types(get_object(file["_target_"]))
    others = [(key, value) for key, kind in kinds.items() for value in words_of(kind) if value != file.get(key)]
    return [(), *((f"mixer.{key}={as_typed(value)}",) for key, value in others)]


CASES = [(name, words) for name in NAMES for words in every_choice(name)]
PROMISES = [promise.name for promise in contract.promises(MixerSubject(SequenceMixer), twin("s4d"))]


@cache
def subject(name: str, words: tuple[str, ...]) -> MixerSubject:
    cfg = load_config("train", [f"mixer={name}", "size=tiny", *words])
    knobs = {key: value for key, value in cfg.mixer_settings.items() if key not in ("name", "_target_")}
    if name == ATTENTION:
        knobs |= {"backend": cfg.attention.name, "heads": HEADS}

    def make(dims: MixerDims) -> SequenceMixer:
        return next(from_config.build_mixers(cfg)(dims, 1))

    return MixerSubject(make, knobs)


@pytest.mark.some_fast(20)
@pytest.mark.some_in_ci(40)
@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("name, words", CASES)
def test_keeps_its_promise(name, words, promise):
    promises = contract.promises(subject(name, words), twin(name))
    (promised,) = [each for each in promises if each.name == promise]
    promised.check()


@pytest.mark.parametrize("name, words", CASES)
def test_neither_other_examples_of_the_batch_nor_padding_at_the_end_matter(name, words):
    """Ours promise more than every mixer must."""
    mixer = subject(name, words)
    assert not mixer.instance(17).batch_wide, "the classifier cuts batches by it"
    assert contract.padded_length_change(mixer) == 0


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("option", ["num_heads", "head_dim"])
def test_ignores_says_which_options_of_the_encoder_have_no_effect(name, option):
    words = ("attention=full",) if name == ATTENTION else ()
    dims = {"width": 16, "num_heads": 2, "head_dim": 8, "max_seq_len": 17, "dropout": 0.0}
    make = from_config.build_mixers(load_config("train", [f"mixer={name}", *words]))
    mixers = []
    for value in (dims[option], 2 * dims[option]):
        torch.manual_seed(0)
        mixers.append(next(make(MixerDims(**{**dims, option: value}), 1)).eval())
    states = [mixer.state_dict() for mixer in mixers]
    same = all(map(torch.equal, *(state.values() for state in states)))
    x_BLD = torch.randn(2, 17, 16)
    assert (option in mixers[0].ignores) is (same and mixers[0](x_BLD, None).equal(mixers[1](x_BLD, None)))
