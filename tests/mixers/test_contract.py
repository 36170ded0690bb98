"""The promises of every sequence mixer, for each file in conf/mixer.

The promises themselves are in `lra.testing`, where `lra check` finds them too. A mixer with a YAML file is tested
without another edit here, but tests/reference/mixers.py must have its slow twin under the same name.
"""

from __future__ import annotations

from functools import cache

import pytest

from lra import build, config
from lra.model.mixer import MixerDims, SequenceMixer
from lra.paths import conf_dir
from lra.testing import contract
from lra.testing.subjects import HEADS, MixerSubject
from tests.reference import mixers as reference

NAMES = sorted(path.stem for path in (conf_dir() / "mixer").glob("*.yaml"))
S4D = [
    (f"mixer.init={init}", f"mixer.discretisation={rule}") for init in ("lin", "inv") for rule in ("zoh", "bilinear")
]
VARIANTS = {  # beside what the YAML file says
    "attention": [("attention=full",), ("attention=nystrom", "protocol=clean"), ("attention=none",)],
    "s4d": [*S4D, ("mixer.input=learned",)],
}
CASES = [(name, words) for name in NAMES for words in VARIANTS.get(name, [()])]
PROMISES = [promise.name for promise in contract.promises(MixerSubject(SequenceMixer), reference.s4d)]


@cache
def subject(name: str, words: tuple[str, ...]) -> MixerSubject:
    cfg = config.load_config("train", [f"mixer={name}", "size=tiny", *words])
    knobs = {key: value for key, value in config.mixer_settings(cfg).items() if key not in ("name", "_target_")}
    if name == config.ATTENTION:
        knobs |= {"backend": cfg.attention.name, "heads": HEADS}

    def make(dims: MixerDims) -> SequenceMixer:
        return next(build.build_mixers(cfg)(dims, 1))

    return MixerSubject(make, knobs)


@pytest.mark.parametrize("promise", PROMISES)
@pytest.mark.parametrize("name, words", CASES)
def test_keeps_its_promise(name, words, promise):
    assert hasattr(reference, name), f"tests/reference/mixers.py has no slow twin {name}()"
    promises = contract.promises(subject(name, words), getattr(reference, name))
    (promised,) = [each for each in promises if each.name == promise]
    promised.check()


@pytest.mark.parametrize("name, words", CASES)
def test_neither_batch_mates_nor_padding_at_the_end_matter(name, words):
    """Ours promise more than every mixer must."""
    mixer = subject(name, words)
    assert not mixer.instance(17).batch_wide, "the classifier cuts batches by it"
    assert contract.padded_length_change(mixer) == 0
