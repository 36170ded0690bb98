"""`lra show data`: show examples in readable form, and the statistics of a store."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.text import Text

from lra.base.text import size_text
from lra.data.codec import Codec, images
from lra.data.loader import EvalLoader
from lra.data.store import Split
from lra.from_config import build_codec, build_data
from lra.from_config.store import ensure_store, print_store
from lra.settings.command_options import Show
from lra.settings.which_run import store_dir
from lra.terminal.console import make_console
from lra.terminal.fit_table import print_prose
from lra.terminal.plots import contact_sheet

LOOKED_AT = 512  # number of examples that the histogram and the masked share are computed from
BINS, BAR = 10, 40
SHEET = 64  # images on a contact sheet


@dataclass(frozen=True, kw_only=True)
class ShownExample:
    """An example in readable form.

    Attributes:
        label: its class.
        lengths: the number of stored tokens of each sequence.
        lines: its sequences.
        cut_at: the length at which one was cut, if it may have been.
    """

    label: int
    lengths: list[int]
    lines: list[str]
    cut_at: int | None


@dataclass(frozen=True, kw_only=True)
class ShownData:
    """Examples of a split, and the statistics of its store.

    Attributes:
        split: train, dev or test.
        examples: the first ones.
        lengths: of the sequences that were looked at, in tokens.
        looked_at: the number of examples whose masked tokens were counted.
        masked: the fraction of their tokens that is masked.
        batch_shape: of a batch's tokens.
        batch_bytes: memory of a batch.
        majority: accuracy of the most frequent label, a fraction.
        by_first_token: accuracy of the most frequent label after an example's first token, counted on train.
        sheet: the contact sheet; None: the examples are no images.
        folder: the store.
    """

    split: str
    examples: list[ShownExample]
    lengths: np.ndarray
    looked_at: int
    masked: float
    batch_shape: tuple[int, ...]
    batch_bytes: float
    majority: float
    by_first_token: float
    sheet: Path | None
    folder: Path

    def show(self, console: Console) -> None:
        """Print examples and statistics."""
        for index, example in enumerate(self.examples):
            sizes = " + ".join(f"{length:,}" for length in example.lengths)
            console.print(Text.assemble((f"{self.split} {index}", "bold"), f"  label {example.label}  {sizes} tokens"))
            for line in example.lines:
                console.print(f"  {line}")
            if example.cut_at is not None:
                console.print(f"  … cut at {example.cut_at:,}", style="yellow")
        _print_lengths(console, self.lengths)
        print_prose(
            console,
            f"masked tokens {self.masked:.1%} of {self.looked_at:,} {self.split} examples; a batch has"
            f" {' × '.join(map(str, self.batch_shape))} tokens, {size_text(self.batch_bytes)}",
        )
        print_prose(
            console,
            f"accuracy on {self.split} without a model: {self.majority:.1%} by the most frequent label,"
            f" {self.by_first_token:.1%} by the most frequent label after an example's first token, counted on train",
        )
        if self.sheet is not None:
            console.print(f"contact sheet: {self.sheet}")
        print_store(console, self.folder)


def show_data(cfg: Show) -> ShownData:
    """Look at examples of a task and the statistics of its store; for images, write a contact sheet too."""
    ensure_store(cfg, make_console())
    data = build_data(cfg)
    split, codec = data.splits[cfg.split], build_codec(cfg)
    stored_cut = any(facts["cut_sequences"] for facts in data.manifest["splits"].values())
    may_be_cut = stored_cut or split.longest is not None
    longest = min(data.manifest["max_length"], split.longest or data.manifest["max_length"])
    examples = []
    for index in range(min(cfg.examples, len(split))):
        stored, label = split.example(index)
        is_cut = may_be_cut and codec.square(stored[0]) is None and any(len(each) == longest for each in stored)
        examples.append(
            ShownExample(
                label=label,
                lengths=[len(sequence) for sequence in stored],
                lines=codec.draw(stored, data.source_facts),
                cut_at=longest if is_cut else None,
            )
        )
    batch = next(iter(EvalLoader(data.collator(cfg.split), batch_size=min(LOOKED_AT, data.num_examples(cfg.split)))))
    tensors = [tensor for tensor in batch if tensor is not None]
    example_bytes = sum(tensor.numel() * tensor.element_size() for tensor in tensors) / len(batch.label)
    return ShownData(
        split=cfg.split,
        examples=examples,
        lengths=_lengths(split),
        looked_at=len(batch.label),
        masked=0.0 if batch.valid is None else 1 - batch.valid.float().mean().item(),
        batch_shape=(data.batch_size, *batch.tokens.shape[1:]),
        batch_bytes=example_bytes * data.batch_size,
        majority=float(np.bincount(split.labels).max() / len(split)),
        by_first_token=first_token_rate(data.splits["train"], split),
        sheet=_sheet(cfg, split, codec),
        folder=store_dir(cfg),
    )


def _sheet(cfg: Show, split: Split, codec: Codec) -> Path | None:
    """Write the first images on one sheet; None where the examples are none."""
    first = [split.example(index) for index in range(min(SHEET, len(split)))]
    sheet = images(codec, [stored[0] for stored, _ in first])
    if not sheet:
        return None
    path = cfg.paths.runs / "show" / f"{cfg.task.name}-{cfg.size.name}-{cfg.split}.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    return contact_sheet(sheet, [label for _, label in first], path)


def _lengths(split: Split) -> np.ndarray:
    """The lengths of sequences that lie evenly in the split."""
    numbers = split.sequences[:: max(1, len(split) // LOOKED_AT)].ravel()
    lengths: np.ndarray = np.minimum(split.offsets[numbers + 1] - split.offsets[numbers], split.longest or np.inf)
    return lengths


def _print_lengths(console: Console, lengths: np.ndarray) -> None:
    """Print a histogram of the lengths, unless all are equal."""
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
