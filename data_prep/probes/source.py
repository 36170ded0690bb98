"""The source of a probe: examples that a function of `data_prep/probes`, or of the user's own, draws at random."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from inspect import signature
from typing import Any

import numpy as np

from data_prep.builder import Row
from data_prep.probes.drawn import Drawn
from data_prep.source import Request, Source
from data_prep.tokens.source import Tokens
from lra.base.probes import GIVEN
from lra.data.manifest import SPLITS
from lra.data.writer import Example
from lra.types import UserError

WORDS = ("auto", "generate")  # of `source=`
NOT_FOR_THE_FUNCTION = ("seq_len", "max_length", "data_seed", *SPLITS)
AT_ONCE = 1024  # examples that are drawn together
FRUITLESS_DRAWS = 50  # of `AT_ONCE` examples in a row, none of them new, before it is said that there are no more


class Probe(Tokens):
    """Token ids of generated sequences, with their labels."""

    DESCRIPTION = "A probe: generated sequences that ask one thing of a model. No part of Long Range Arena."


def open_source(request: Request, *, generate: Callable[..., Drawn]) -> Source:
    """Draw the examples of a probe.

    The parts have random generators of their own. Dev and test examples are distinct, and none of them is in the
    training part.

    Args:
        request: the user's request. Its settings are `seq_len` and `max_length`, which are equal, the number of
            examples of each part, `data_seed`, and what the function takes.
        generate: called with a random generator and a number of examples, then by name with `length`, `training`
            (whether the examples are for training: these may be easier) and the other settings.

    Raises:
        UserError: for another source, settings that the function does not take, ids or labels that the task's `spec`
            has no place for, and when there are too few distinct examples.
    """
    if request.source not in WORDS:
        line = f"source={request.source} is not known for task={request.task}, which is generated; leave it out"
        raise UserError(line, kind="wrong_value", key="source", value=request.source, right=WORDS)
    settings = request.settings
    counts = {split: int(settings[split]) for split in SPLITS}
    draw = partial(generate, length=settings["seq_len"], **_options(request, generate))
    parts, known = {}, set[bytes]()
    for index, split in reversed([*enumerate(SPLITS)]):  # the training part last: it leaves out what the others have
        rng = np.random.default_rng((settings["data_seed"], index))
        parts[split] = _draw_part(partial(draw, rng, training=split == "train"), split, known, request)
    total = sum(counts.values())
    request.tick(total, total)
    return Source(
        origin=lambda: "generated",
        facts={"tokens": "words", "vocabulary": parts["train"].words},
        make_builder=lambda folder: Probe(
            rows={split: partial(_rows, part) for split, part in parts.items()},
            settings=settings,
            config=f"{request.task}_{request.size}",
            data_dir=folder,
        ),
        encode=_encode,
        dtype=np.uint16,
        first_id=0,
        counts=counts,
    )


def _options(request: Request, generate: Callable[..., Drawn]) -> dict[str, Any]:
    """Choose the settings for the function; one that it does not take, or lacks, is refused."""
    options = {key: value for key, value in request.settings.items() if key not in NOT_FOR_THE_FUNCTION}
    takes = {name: each for name, each in signature(generate).parameters.items() if each.kind == each.KEYWORD_ONLY}
    own = [name for name in takes if name not in GIVEN]
    wrong = next((key for key in options if key not in own), None)
    if wrong is not None:
        line = f"task.data.{wrong} is no setting of task={request.task}; it has {', '.join(own)}"
        raise UserError(line, kind="unknown_option", key=f"task.data.{wrong}", right=own)
    missing = next((name for name in own if name not in options and takes[name].default is takes[name].empty), None)
    if missing is not None:
        line = f"task={request.task} lacks task.data.{missing}, which its function takes; add it to its file"
        raise UserError(line, kind="missing_value", key=f"task.data.{missing}")
    return options


def _draw_part(draw: Callable[[int], Drawn], split: str, known: set[bytes], request: Request) -> Drawn:
    """Draw the examples of a part that are not `known`; those of dev and test become known, so that they differ."""
    count, fruitless = int(request.settings[split]), 0
    tokens, labels, words = list[np.ndarray](), list[int](), list[str]()
    while len(tokens) < count:
        drawn, before = draw(AT_ONCE), len(tokens)
        _check(drawn, request)
        words = drawn.words
        for row, label in zip(drawn.tokens.astype(np.uint16), drawn.labels.tolist(), strict=True):
            key = row.tobytes()
            if key not in known:
                tokens.append(row)
                labels.append(label)
                if split != "train":
                    known.add(key)
        fruitless = fruitless + 1 if len(tokens) == before else 0
        if fruitless == FRUITLESS_DRAWS:
            right = f"task.sizes.{request.size}.{split}={len(tokens)}"
            line = f"task={request.task} has no {count:,} distinct examples for {split} with these settings;"
            line += f" type {right}" if tokens else " all of them are in the other parts: choose settings with more"
            raise UserError(line, kind="too_few_examples", key=f"task.data.{split}", value=count, right=right)
    return Drawn(np.stack(tokens[:count]), np.array(labels[:count]), words)


def _check(drawn: Drawn, request: Request) -> None:
    """Refuse examples that do not fit the task's `spec`."""
    spec = request.spec
    assert drawn.tokens.shape[1] == spec.seq_len, f"{drawn.tokens.shape}, not {spec.seq_len} tokens"
    assert drawn.tokens.min() >= 1, "id 0 is padding"
    assert drawn.labels.min() >= 0, drawn.labels.min()
    for key, largest, most in (
        ("vocab_size", len(drawn.words), spec.vocab_size - 2),  # the last row is for the token of protocol.pooling=cls
        ("num_classes", int(drawn.labels.max()), spec.num_classes - 1),
    ):
        if largest > most:
            line = f"task.spec.{key}={getattr(spec, key)} is too small for these settings of task={request.task}"
            right = getattr(spec, key) + largest - most
            raise UserError(
                f"{line}; type task.spec.{key}={right}", kind="wrong_value", key=f"task.spec.{key}", right=right
            )


def _rows(part: Drawn) -> Iterator[Row]:
    for row, label in zip(part.tokens, part.labels.tolist(), strict=True):
        yield {"tokens": row, "label": label}


def _encode(record: Mapping[str, Any]) -> Example:
    return [record["tokens"]], int(record["label"])
