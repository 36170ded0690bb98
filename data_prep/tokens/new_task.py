"""Read a file of the user's own once, and write the YAML file of its task with all numbers."""

import math
import re
from collections.abc import Mapping
from pathlib import Path

import yaml

from data_prep.tokens.collect import PIXELS
from data_prep.tokens.read_table import read_table, refuse_missing_file
from data_prep.tokens.table import (
    MOST_CLASSES,
    MOST_IDS,
    Table,
    check_rows,
    check_trained,
    sizes_of_rows,
    split_rows,
    with_classes,
    with_ids,
)
from lra.base.printed_commands import override, typed_command
from lra.base.text import is_float
from lra.types import UserError

COLUMN_OPTIONS = {"text": "tokens", "label": "label", "split": "split"}  # as typed, and as in the YAML file
OPTIONS = ("tokens", "max_length", "unlabelled", *COLUMN_OPTIONS)
AS_CLASS = "class"  # the value of `unlabelled=` that makes a class of labels which look as if they were missing
LARGEST_ID = {"bytes": 256, PIXELS: 255}  # whichever a file has
NO_LABEL = "-1"  # as public data sets have it, most of them in their test part
WHOLE_NUMBER = re.compile(r"[+-]?\d+")
TASK = """\
name: {name}
about: {about}
# terms: the licence of the data
# card: {{creator: …, published: …, collection: …, limitations: …, biases: …, personal_information: …, uses: …}}
spec:
  _target_: lra.types.TaskSpec
  name: {name}
  vocab_size: {vocab_size}  # the largest id is {largest_id}; one row more, for the extra token of protocol.pooling=cls
  seq_len: ${{task.data.seq_len}}
  num_sequences: 1
  num_classes: {num_classes}
mask_zero: {mask_zero}
dev_split: {dev_split}
codec: {{_target_: lra.data.tokens.{codec}}}
open_source:
  _target_: data_prep.tokens.source.open_source
  _partial_: true
  file: {file}
data: ${{task.sizes.${{size.name}}}}
sizes:
  full: {full}
  short: ${{task.sizes.full}}
  tiny: ${{task.sizes.full}}
"""


def task_yaml(name: str, source: Path, options: Mapping[str, str], scratch: Path) -> tuple[str, str]:
    """Write the YAML file of a task for a file or a folder of images, and what was found in it, as a line.

    `options` are what is typed of OPTIONS.

    Raises:
        UserError: when the file cannot be read, or no model can be trained on it.
    """
    refuse_missing_file(source)
    path = source.resolve()
    typed = {column: options[option] for option, column in COLUMN_OPTIONS.items() if option in options}
    table = read_table(path, scratch, {"tokens": options.get("tokens"), "columns": typed})
    if typed and table.columns is None:
        raise UserError(f"{path} has no columns; leave out {' '.join(f'{option}=' for option in COLUMN_OPTIONS)}")
    check_rows(table)
    classes = _classes(table, unlabelled=options.get("unlabelled"))
    table = with_classes(table, classes)
    numbers = split_rows(table)
    check_trained(table, numbers["train"])
    table, vocabulary = with_ids(table, numbers["train"])
    lengths, largest_ids = sizes_of_rows(table)
    longest, largest = int(lengths.max()), LARGEST_ID.get(table.tokens, int(largest_ids.max()))
    if largest + 2 > MOST_IDS:
        if vocabulary is not None:
            line = f"{path} has {largest:,} different {table.tokens}; at most {MOST_IDS - 2:,} can be"
            line += "; type tokens=bytes or tokens=characters" if table.tokens == "words" else ""
        else:
            line = f"{table.location(int(largest_ids.argmax()))}: id {largest}; an id is at most {MOST_IDS - 2}"
        kind = "wrong_id" if vocabulary is None else "many_words"
        raise UserError(line, kind=kind, key="tokens", value=largest, right=MOST_IDS - 2)
    most = _max_length(options.get("max_length"), longest)
    counts = {split: len(part) for split, part in numbers.items()}
    longer = "cut" if most < longest else "refuse"
    full: dict[str, object] = {"seq_len": most, "max_length": most, "longer": longer, **counts, "tokens": table.tokens}
    if table.columns is not None:
        full["columns"] = {key: name for key, name in table.columns._asdict().items() if name is not None}
    if classes is not None:
        full["classes"] = classes
    num_classes = int(table.labels.max()) + 1
    examples = ", ".join(f"{split} {count:,}" for split, count in counts.items())
    lengths_text = f"{lengths.min():,} to {longest:,} {table.tokens}"
    found = f"{path.name}: {num_classes} classes, {lengths_text}, {examples}"
    text = TASK.format(
        name=name,
        about=_quoted(found),
        vocab_size=largest + 2,
        largest_id=largest,
        num_classes=num_classes,
        mask_zero="${protocol.pixel_zero_is_padding}" if table.tokens == PIXELS else "true",
        dev_split="own" if "dev" in numbers else "held_out",
        codec="LevelCodec" if table.tokens == PIXELS else "TokenCodec",
        file=_quoted(str(path)),
        full=_quoted(full),
    )
    return text, found


def _classes(table: Table, *, unlabelled: str | None) -> list[str] | None:
    """Order the labels of a file as classes; None: they are the numbers from 0 on.

    Fewer than two labels, too many, and fractions are refused; so are labels that look as if a row had none, unless
    `unlabelled` is AS_CLASS.
    """
    if unlabelled not in (None, AS_CLASS):
        line = f"unlabelled={unlabelled} is not known; it may be {AS_CLASS}"
        raise UserError(line, kind="wrong_value", key="unlabelled", value=unlabelled, right=AS_CLASS)
    names = table.names or []
    missing = [] if unlabelled else _missing(names)
    for number, name in enumerate(names):
        location = table.location(int((table.labels == number).argmax()))
        if name in missing:
            of_class = typed_command("new task mine", override("unlabelled", AS_CLASS))
            others = ", ".join(repr(other) for other in names if other not in missing)
            line = (
                f"{location}: label {name!r:.60} beside {others:.60}; give the row a label, or leave it out; if this is"
                f" meant as a class, type: {of_class}"
            )
            raise UserError(line, kind="unlabelled", key="label", value=name, right=f"unlabelled={AS_CLASS}")
        if not WHOLE_NUMBER.fullmatch(name) and is_float(name) and not math.isnan(float(name)):
            line = (
                f"{location}: label {name!r:.60}; labels are whole numbers or names; correct it, or leave the row out"
            )
            raise UserError(line, kind="wrong_label", key="label", value=name)
    if not 2 <= len(names) <= MOST_CLASSES:
        what = f"only the label {names[0]!r:.60}" if len(names) == 1 else f"{len(names):,} different labels"
        raise UserError(f"{table.path} has {what}; a task has 2 to {MOST_CLASSES} classes", kind="classes", key="label")
    if not all(map(WHOLE_NUMBER.fullmatch, names)):
        return sorted(names)
    classes = sorted(names, key=int)
    return None if classes == [str(number) for number in range(len(names))] else classes


def _missing(names: list[str]) -> list[str]:
    """Choose the labels that stand where a row has none: an empty one, NaN, and -1.

    Of two labels -1 and 1, -1 is a class, and so it is beside other negative numbers.
    """
    missing = [name for name in names if not name.strip() or (is_float(name) and math.isnan(float(name)))]
    others = [name for name in names if name not in (*missing, NO_LABEL)]
    negative = [name for name in others if name.startswith("-") and WHOLE_NUMBER.fullmatch(name)]
    if NO_LABEL in names and len(others) >= 2 and not negative:
        missing.append(NO_LABEL)
    return missing


def _max_length(typed: str | None, longest: int) -> int:
    if typed is None:
        return longest
    if not typed.isdecimal() or not int(typed):
        raise UserError(f"max_length={typed} is no length; type a whole number from 1 on, such as max_length={longest}")
    return min(int(typed), longest)


def _quoted(value: object) -> str:
    """Write a value in one line of YAML, for OmegaConf, which would replace what stands in `${…}`."""
    text: str = yaml.safe_dump(
        [value], default_flow_style=True, allow_unicode=True, sort_keys=False, width=float("inf")
    )
    return text.strip()[1:-1].replace("${", r"\${")
