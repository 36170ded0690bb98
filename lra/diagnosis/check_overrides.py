"""Which settings `lra diagnose` has: those of the model it is about, and of the machine; it trains nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from lra.types import UserError

BESIDE_A_RUN = ("run", "seed", "to", "examples", "sequences", "logger", "paths", "check")
HONOURED_OF_TRAINER = ("trainer.threads", "trainer=cpu")
OF_TRAINING = ("recipe", "compile", "callbacks", "debug", "force", "finished", "predictions")


def check_words(words: Sequence[str], *, beside_a_run: bool) -> None:
    """Refuse settings that would have no effect.

    Args:
        words: the overrides, as typed.
        beside_a_run: whether a run is diagnosed, which has its own model and data; else a fresh model.

    Raises:
        UserError: for the first such setting.
    """
    for word in words:
        plain = word.lstrip("+~")
        key = re.split(r"[.=]", plain)[0]
        if plain.split("=")[0] in HONOURED_OF_TRAINER or plain in HONOURED_OF_TRAINER:
            continue
        if beside_a_run and key not in BESIDE_A_RUN:
            raise UserError(
                f"{word} has no effect beside run=, which has its own model and data; leave one of the two out",
                kind="no_effect",
                key=plain,
            )
        if key == "trainer":
            raise UserError(
                f"{word} has no effect: a model is diagnosed on the CPU in float32; leave it out, or type for example"
                " trainer.threads=2",
                kind="no_effect",
                key=plain,
            )
        if key == "examples" and not beside_a_run:
            raise UserError(
                f"{word} has no effect on a fresh model, which has no accuracies; leave it out, or name a trained run:"
                " run=a1b9200f",
                kind="no_effect",
                key=plain,
            )
        if key in OF_TRAINING:
            raise UserError(
                f"{word} has no effect on a fresh model, which is not trained; leave it out, or name a trained run:"
                " run=a1b9200f",
                kind="no_effect",
                key=plain,
            )
