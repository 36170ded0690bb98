"""Fill the mask in a text, by our encoder with the weights of a Hugging Face checkpoint in a local folder."""

from pathlib import Path
from typing import Any, NamedTuple

import torch

from lra.tools.interop.files import CONFIG_JSON, SAFETENSORS, TORCH_FILE, read_json, read_tensors, read_torch_file
from lra.tools.interop.huggingface import TextModel, converted, import_transformers, known_architecture
from lra.tools.interop.nystromformer import TheirConfig, checked_config, landmark_length
from lra.types import UserError

PIECES = "spiece.model"  # of the published checkpoints; the AutoTokenizer of transformers 5 does not read it by itself
BRING = "download the checkpoint's own files, and name their folder"
LANGUAGE_MODEL = "NystromformerForMaskedLM"


def _read_their_config(folder: Path) -> tuple[TheirConfig, str]:
    """Read configuration and class of a saved Nyströmformer; refuse a model that ours cannot be."""
    path = folder / CONFIG_JSON
    if not folder.is_dir():
        raise UserError(f"model={folder} is not a folder; {BRING}")
    fields = read_json(path, BRING)
    config = checked_config(fields, path)
    classes = fields.get("architectures") or ["NystromformerModel"]
    return config, known_architecture(classes[0] if isinstance(classes, list) else classes, path)


def _read_text_model(folder: Path, config: TheirConfig, architecture: str) -> TextModel:
    """Read weights, in float32, from model.safetensors, or else from pytorch_model.bin only its tensors."""
    old = not (folder / SAFETENSORS).exists() and (folder / TORCH_FILE).exists()
    path = folder / (TORCH_FILE if old else SAFETENSORS)
    weights = (read_torch_file if old else read_tensors)(path, BRING)
    return converted(config, architecture, weights, path).eval()


def _read_tokenizer(folder: Path) -> Any:
    """Read the folder's tokenizer with transformers; nothing is downloaded, and no code in the folder is run."""
    transformers = import_transformers("lra fill-mask")
    pieces_alone = (folder / PIECES).exists() and not (folder / "tokenizer.json").exists()
    kind = transformers.AlbertTokenizer if pieces_alone else transformers.AutoTokenizer
    try:
        return kind.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, TypeError, KeyError, ImportError) as error:
        message = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UserError(f"{folder} has no tokenizer that transformers can read ({message}); {BRING}") from error


class Filling(NamedTuple):
    """One way to fill the mask: its probability in [0, 1], the token's id and text, and the whole text with it."""

    score: float
    token: int
    word: str
    sentence: str


def fill_mask(folder: Path, text: str, *, mask: str, top: int) -> list[Filling]:
    """Compute the `top` most probable fillings, by our encoder with the weights of a masked language model.

    Args:
        folder: with config.json, the weights and the tokenizer's files.
        text: holds `mask` once.
        mask: what stands in the text for the tokenizer's own mask.
        top: the number of fillings.

    Raises:
        UserError: for a folder or a text that does not fit.
    """
    config, architecture = _read_their_config(folder)
    if architecture != LANGUAGE_MODEL:
        raise UserError(f"{folder} holds a {architecture}, which predicts no words; name that of a {LANGUAGE_MODEL}")
    tokenizer = _read_tokenizer(folder)
    if tokenizer.mask_token is None:
        raise UserError(f"the tokenizer in {folder} has no mask token; name another checkpoint")
    masked = text.replace(mask, tokenizer.mask_token)
    encoded, length = tokenizer(masked, return_attention_mask=True), landmark_length(config)
    if length is not None:  # landmarks are taken of this length alone, to which the text is padded
        count = len(encoded["input_ids"])
        if count > length:
            raise UserError(
                f"the text has {count} tokens, and this model's landmarks take {length}; type a shorter text"
            )
        encoded = tokenizer(masked, padding="max_length", max_length=length, return_attention_mask=True)
    ids, longest = encoded["input_ids"], config["max_position_embeddings"]
    if len(ids) > longest or max(ids) >= config["vocab_size"]:
        problem = f"{len(ids)} tokens, and the model takes {longest}" if len(ids) > longest else "unknown tokens"
        raise UserError(f"the text has {problem}; type a shorter text, or name a folder whose files belong together")
    model = _read_text_model(folder, config, architecture)
    position = ids.index(tokenizer.mask_token_id)
    valid_1L = torch.tensor([encoded["attention_mask"]], dtype=torch.bool)
    with torch.no_grad():
        logits_1LV = model(torch.tensor([ids]), None if valid_1L.all() else valid_1L)
    scores, tokens = logits_1LV[0, position].softmax(-1).topk(min(top, config["vocab_size"]))
    return [
        Filling(
            score=score,
            token=token,
            word=tokenizer.decode([token]).strip(),
            sentence=tokenizer.decode([*ids[:position], token, *ids[position + 1 :]], skip_special_tokens=True).strip(),
        )
        for score, token in zip(scores.tolist(), tokens.tolist(), strict=True)
    ]
