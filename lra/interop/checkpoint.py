"""Read a checkpoint folder of the package transformers: configuration, weights, tokenizer."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lra.interop.config import TheirConfig, checked_config
from lra.interop.files import CONFIG_JSON, SAFETENSORS, TORCH_FILE, read_json, read_tensors, read_torch_file
from lra.interop.huggingface import converted, import_transformers, known_architecture
from lra.model.text_model import TextModel
from lra.types import UserError

PIECES = "spiece.model"  # of the published checkpoints; the AutoTokenizer of transformers 5 does not read it by itself
BRING = "download the checkpoint's own files, and name their folder"


def read_their_config(folder: Path) -> tuple[TheirConfig, str]:
    """Read configuration and class of a saved Nyströmformer.

    Raises:
        UserError: when there is no such folder or file, and for a model that ours cannot be.
    """
    place = folder / CONFIG_JSON
    if not folder.is_dir():
        raise UserError(f"model={folder} is not a folder; {BRING}")
    fields = read_json(place, BRING)
    config = checked_config(fields, place)
    classes = fields.get("architectures") or ["NystromformerModel"]
    return config, known_architecture(classes[0] if isinstance(classes, list) else classes, place)


def read_text_model(folder: Path) -> TextModel:
    """Read a saved Nyströmformer as our model, in float32, in evaluation mode.

    The weights come from model.safetensors, or else from pytorch_model.bin, of which only tensors are read.

    Raises:
        UserError: as `read_their_config`, and when the weights are missing, damaged, or do not fit.
    """
    config, architecture = read_their_config(folder)
    old = not (folder / SAFETENSORS).exists() and (folder / TORCH_FILE).exists()
    place = folder / (TORCH_FILE if old else SAFETENSORS)
    weights = (read_torch_file if old else read_tensors)(place, BRING)
    return converted(config, architecture, weights, place).eval()


def read_tokenizer(folder: Path, what: str) -> Any:
    """Read the folder's tokenizer with transformers; nothing is downloaded, and no code in the folder is run.

    Args:
        folder: the checkpoint's folder.
        what: what needs transformers, for the error.

    Raises:
        UserError: when transformers is not installed, or the folder has no tokenizer that it can read.
    """
    transformers = import_transformers(what)
    pieces_alone = (folder / PIECES).exists() and not (folder / "tokenizer.json").exists()
    kind = transformers.AlbertTokenizer if pieces_alone else transformers.AutoTokenizer
    try:
        return kind.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, TypeError, KeyError, ImportError) as error:
        said = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise UserError(f"{folder} has no tokenizer that transformers can read ({said}); {BRING}") from error
