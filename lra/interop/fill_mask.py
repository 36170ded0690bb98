"""Fill the mask in a text with the tokens that a masked language model finds most probable.

Letters: L positions, V tokens of the vocabulary.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from lra.interop.checkpoint import read_text_model, read_their_config, read_tokenizer
from lra.interop.config import landmark_length
from lra.types import UserError

MASK = "[MASK]"  # in the user's text, whatever the tokenizer's own is
LANGUAGE_MODEL = "NystromformerForMaskedLM"
EXAMPLE = f'text="Paris is the {MASK} of France."'


@dataclass(frozen=True, kw_only=True)
class Filling:
    """One way to fill the mask.

    Attributes:
        score: its probability, in [0, 1].
        token: id of the token.
        word: the token as text.
        sentence: the whole text with it.
    """

    score: float
    token: int
    word: str
    sentence: str


def fill_mask(folder: Path, text: str, *, top: int) -> list[Filling]:
    """Compute the `top` most probable fillings, by our encoder with the checkpoint's weights.

    Args:
        folder: a checkpoint that transformers has saved: config.json, weights, tokenizer.
        text: a text with one `[MASK]`.
        top: how many.

    Raises:
        UserError: for a text without one mask or one that is too long, when transformers is not installed, and for a
            folder that is no checkpoint of a masked language model.
    """
    if text.count(MASK) != 1:
        raise UserError(f"the text has {text.count(MASK)} {MASK}, where one belongs; type for example {EXAMPLE}")
    config, architecture = read_their_config(folder)
    if architecture != LANGUAGE_MODEL:
        raise UserError(f"{folder} holds a {architecture}, which predicts no words; name that of a {LANGUAGE_MODEL}")
    tokenizer = read_tokenizer(folder, "lra fill-mask")
    if tokenizer.mask_token is None:
        raise UserError(f"the tokenizer in {folder} has no mask token; name another checkpoint")
    encoded = _encoded(tokenizer, text.replace(MASK, tokenizer.mask_token), landmark_length(config))
    ids, longest = encoded["input_ids"], config["max_position_embeddings"]
    if len(ids) > longest or max(ids) >= config["vocab_size"]:
        trouble = f"{len(ids)} tokens, and the model takes {longest}" if len(ids) > longest else "unknown tokens"
        raise UserError(f"the text has {trouble}; type a shorter text, or name a folder whose files belong together")
    model = read_text_model(folder)
    place = ids.index(tokenizer.mask_token_id)
    valid_1L = torch.tensor([encoded["attention_mask"]], dtype=torch.bool)
    with torch.no_grad():
        logits_1LV = model(torch.tensor([ids]), None if valid_1L.all() else valid_1L)
    scores, tokens = logits_1LV[0, place].softmax(-1).topk(min(top, config["vocab_size"]))
    return [_filling(tokenizer, ids, place, *pair) for pair in zip(scores.tolist(), tokens.tolist(), strict=True)]


def _encoded(tokenizer: Any, text: str, length: int | None) -> Any:
    """Encode the text; landmarks are taken of one length alone, to which it is padded."""
    encoded = tokenizer(text, return_attention_mask=True)
    if length is None:
        return encoded
    if len(encoded["input_ids"]) > length:
        tokens = len(encoded["input_ids"])
        raise UserError(f"the text has {tokens} tokens, and this model's landmarks take {length}; type a shorter text")
    return tokenizer(text, padding="max_length", max_length=length, return_attention_mask=True)


def _filling(tokenizer: Any, ids: list[int], place: int, score: float, token: int) -> Filling:
    filled = [*ids[:place], token, *ids[place + 1 :]]
    return Filling(
        score=score,
        token=token,
        word=tokenizer.decode([token]).strip(),
        sentence=tokenizer.decode(filled, skip_special_tokens=True).strip(),
    )
