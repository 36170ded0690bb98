"""lra fill-mask: fill the mask in a text, by our encoder with the weights of a Hugging Face checkpoint.

  lra fill-mask model=nystromformer-512 text="Paris is the [MASK] of France."
  lra fill-mask model=nystromformer-512 text="Paris is the [MASK] of France." top=10 format=json

model= is a folder with config.json, model.safetensors and the tokenizer's files, as the package transformers saves a
NystromformerForMaskedLM; nothing is downloaded. Prints each filling's probability, token, word and sentence. The
tokenizer needs transformers: pip install -e '.[hf]'.
"""

import json
import re
from dataclasses import asdict
from pathlib import Path

from omegaconf import DictConfig, OmegaConf

from lra.base.arguments import check_choice
from lra.interop.fill_mask import EXAMPLE, fill_mask
from lra.results.tables import TextTable
from lra.settings.overrides import in_quotes
from lra.terminal.console import make_console
from lra.terminal.fit_table import print_text_table
from lra.types import UserError

_FORMATS = ("terminal", "json")


def to_overrides(words: list[str]) -> list[str]:
    """Put the text in quotes, so that Hydra does not read `[MASK]` as a list; `model=` is a config group of Hydra's."""
    renamed = [re.sub(r"^model=", "checkpoint=", word) for word in words]
    return [_quoted(word) if word.startswith("text=") else word for word in renamed]


def _quoted(word: str) -> str:
    text = word.removeprefix("text=")
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"":
        return word
    return f"text={in_quotes(text)}"


def run(cfg: DictConfig) -> None:
    """Fill the mask of `cfg.text` with the model in the folder `cfg.checkpoint`."""
    for key, example in (("checkpoint", "model=nystromformer-512"), ("text", EXAMPLE)):
        if OmegaConf.select(cfg, key) is None:
            typed = example.partition("=")[0]
            line = f"{typed}= is missing; type for example {example}"
            raise UserError(line, kind="missing_option", key=typed, right=example)
    check_choice("format", cfg.format, _FORMATS)
    fillings = fill_mask(Path(cfg.checkpoint).expanduser(), str(cfg.text), top=cfg.top)
    if cfg.format == "json":
        print(json.dumps([asdict(filling) for filling in fillings], indent=2))
        return
    columns = ("score", "token", "word", "sentence")
    rows = [[f"{each.score:.4f}", str(each.token), each.word, each.sentence] for each in fillings]
    print_text_table(make_console(), TextTable(title="", columns=columns, rows=rows, prose=columns[2:]))
