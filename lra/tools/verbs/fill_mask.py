"""lra fill-mask: fill the mask in a text, by our encoder with the weights of a Hugging Face checkpoint.

  lra fill-mask model=nystromformer-512 text="Paris is the [MASK] of France."
  lra fill-mask model=nystromformer-512 text="Paris is the [MASK] of France." top=10 format=json

model= is a folder with config.json, model.safetensors and the tokenizer's files, as the package transformers saves a
NystromformerForMaskedLM; nothing is downloaded. Prints each filling's probability, token, word and sentence. The
tokenizer needs transformers: pip install -e '.[hf]'.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from lra.base.option_types import check_choice
from lra.base.overrides import Override, Overrides
from lra.base.printed_commands import quoted_for_hydra
from lra.settings.command_options import FillMask
from lra.settings.run_config import RunConfig
from lra.terminal.fit_table import print_text_table
from lra.terminal.text_table import TextTable
from lra.types import UserError

if TYPE_CHECKING:
    from rich.console import Console

    from lra.tools.interop.fill_mask import Filling

MASK = "[MASK]"  # in the user's text, whatever the tokenizer's own is
EXAMPLE = f'text="Paris is the {MASK} of France."'


def to_overrides(arguments: Overrides) -> Overrides:
    """Put the text in quotes, so that Hydra does not read `[MASK]` as a list; `model=` is a config group of Hydra's."""
    return Overrides(map(_for_hydra, arguments))


def _for_hydra(argument: Override) -> str:
    if argument.signed_key == "model" and argument.has_value:
        return f"checkpoint={argument.text}"
    text = argument.text
    if argument.signed_key != "text" or (len(text) > 1 and text[0] == text[-1] and text[0] in "'\""):
        return argument
    return f"text={quoted_for_hydra(text)}"


@dataclass(frozen=True)
class Filled:
    """What a model puts into the mask of a text, the most probable first; to be shown as a table or as JSON."""

    fillings: list[Filling]
    as_json: bool

    def show(self, console: Console) -> None:
        """Print each filling's probability, token, word and sentence."""
        if self.as_json:
            print(json.dumps([filling._asdict() for filling in self.fillings], indent=2))
            return
        rows = [[f"{each.score:.4f}", str(each.token), each.word, each.sentence] for each in self.fillings]
        table = TextTable(
            title="", columns=("score", "token", "word", "sentence"), rows=rows, prose=("word", "sentence")
        )
        print_text_table(console, table)


def run(cfg: RunConfig) -> Filled:
    """Fill the mask of `cfg.text` with the model in the folder `cfg.checkpoint`."""
    from lra.tools.interop.fill_mask import fill_mask  # with torch, which a mistyped word need not wait for

    asked = FillMask.view(cfg)
    if asked.checkpoint is None:
        raise _missing("model=nystromformer-512")
    if asked.text is None:
        raise _missing(EXAMPLE)
    check_choice("format", asked.format, ("terminal", "json"))
    text = str(asked.text)
    if text.count(MASK) != 1:
        raise UserError(f"the text has {text.count(MASK)} {MASK}, where one belongs; type for example {EXAMPLE}")
    fillings = fill_mask(Path(asked.checkpoint).expanduser(), text, mask=MASK, top=asked.top)
    return Filled(fillings, as_json=asked.format == "json")


def _missing(example: str) -> UserError:
    key = Override(example).key
    line = f"{key}= is missing; type for example {example}"
    return UserError(line, kind="missing_option", key=key, right=example)
