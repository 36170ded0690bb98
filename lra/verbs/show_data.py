"""`lra show data`: show examples in readable form, and the statistics of a store."""

from pathlib import Path

import numpy as np
from omegaconf import DictConfig
from rich.console import Console
from rich.text import Text

from lra.base.text import size_text
from lra.data.codec import images
from lra.data.loader import EvalLoader
from lra.data.store import Split
from lra.data.store_data import StoreData
from lra.from_config import build_codec, build_data
from lra.from_config.store import ensure_store, print_store
from lra.settings.run_folder import store_dir
from lra.terminal.console import make_console
from lra.terminal.fit_table import print_prose
from lra.terminal.plots import contact_sheet

LOOKED_AT = 512  # number of examples that the histogram and the masked share are computed from
BINS, BAR = 10, 40
SHEET = 64  # images on a contact sheet


def show_data(cfg: DictConfig) -> None:
    """Print examples of a task and the statistics of its store; for images, write a contact sheet too."""
    console = make_console()
    ensure_store(cfg, console)
    data = build_data(cfg)
    split, codec = data.splits[cfg.split], build_codec(cfg)
    stored_cut = any(facts["cut_sequences"] for facts in data.manifest["splits"].values())
    may_be_cut = stored_cut or split.longest is not None
    for index in range(min(cfg.examples, len(split))):
        stored, label = split.example(index)
        sizes = " + ".join(f"{len(sequence):,}" for sequence in stored)
        console.print(Text.assemble((f"{cfg.split} {index}", "bold"), f"  label {label}  {sizes} tokens"))
        for line in codec.draw(stored, data.source_facts):
            console.print(f"  {line}")
        longest = min(data.manifest["max_length"], split.longest or data.manifest["max_length"])
        if may_be_cut and codec.square(stored[0]) is None and any(len(sequence) == longest for sequence in stored):
            console.print(f"  … cut at {longest:,}", style="yellow")
    _print_lengths(console, split)
    _print_batch(console, data, cfg.split)
    majority = np.bincount(split.labels).max() / len(split)
    by_token = first_token_rate(data.splits["train"], split)
    print_prose(
        console,
        f"accuracy on {cfg.split} without a model: {majority:.1%} by the most frequent label,"
        f" {by_token:.1%} by the most frequent label after an example's first token, counted on train",
    )
    first = [split.example(i) for i in range(min(SHEET, len(split)))]
    sheet = images(codec, [stored[0] for stored, _ in first])
    if sheet:
        path = Path(cfg.paths.runs) / "show" / f"{cfg.task.name}-{cfg.size.name}-{cfg.split}.png"
        path.parent.mkdir(parents=True, exist_ok=True)
        console.print(f"contact sheet: {contact_sheet(sheet, [label for _, label in first], path)}")
    print_store(console, store_dir(cfg))


def _print_lengths(console: Console, split: Split) -> None:
    """Print a histogram of the lengths, unless all lengths are equal."""
    numbers = split.sequences[:: max(1, len(split) // LOOKED_AT)].ravel()
    lengths = np.minimum(split.offsets[numbers + 1] - split.offsets[numbers], split.longest or np.inf)
    if lengths.min() == lengths.max():
        return
    counts, edges = np.histogram(lengths, BINS)
    for count, low, high in zip(counts.tolist(), edges, edges[1:], strict=False):
        bar = "█" * round(BAR * count / counts.max())
        console.print(f"  {low:>6,.0f} to {high:>6,.0f} tokens {count / len(lengths):>6.1%} {bar}")


def first_token_rate(train: Split, split: Split) -> float:
    """Compute the accuracy, in [0, 1], of predicting the most frequent label among training examples that begin alike.

    An example begins with the first token of its first sequence. An example whose first token does not occur in
    training is predicted as the label with the lowest number.
    """
    counts = np.zeros((int(train.tokens.max()) + 1, int(max(train.labels.max(), split.labels.max())) + 1), np.int64)
    np.add.at(counts, (_first_tokens(train), train.labels), 1)
    return float((counts.argmax(1)[_first_tokens(split)] == split.labels).mean())


def _first_tokens(split: Split) -> np.ndarray:
    """The first token of each example's first sequence; 0 where it is empty."""
    starts, ends = split.offsets[split.sequences[:, 0]], split.offsets[split.sequences[:, 0] + 1]
    return np.where(starts < ends, split.tokens[np.minimum(starts, len(split.tokens) - 1)], 0)


def _print_batch(console: Console, data: StoreData, split: str) -> None:
    """Print the share of masked tokens, and shape and memory of a batch."""
    batch = next(iter(EvalLoader(data.collator(split), batch_size=min(LOOKED_AT, data.num_examples(split)))))
    masked = 0.0 if batch.valid is None else 1 - batch.valid.float().mean().item()
    tensors = [tensor for tensor in batch if tensor is not None]
    example_bytes = sum(tensor.numel() * tensor.element_size() for tensor in tensors) / len(batch.label)
    shape = " × ".join(map(str, (data.batch_size, *batch.tokens.shape[1:])))
    print_prose(
        console,
        f"masked tokens {masked:.1%} of {len(batch.label):,} {split} examples;"
        f" a batch has {shape} tokens, {size_text(example_bytes * data.batch_size)}",
    )
