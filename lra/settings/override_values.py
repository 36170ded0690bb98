"""The values of overrides, by Hydra's grammar: each text is parsed once."""

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.core.override_parser.types import ChoiceSweep, IntervalSweep, QuotedString, RangeSweep
from hydra.core.override_parser.types import Override as Parsed
from omegaconf import OmegaConf

from lra.base.option_types import as_typed
from lra.base.overrides import Override, Overrides

TIMES = "times"  # tag of an interval, or of choices, whose numbers are factors of the value that a run has without


@lru_cache(maxsize=4096)
def parse(text: str) -> Parsed:
    """Parse an override that is well-formed; `read_override` says what is wrong with one that is not."""
    return OverridesParser.create().parse_override(text)


def values_of(parsed: Parsed) -> list[object]:
    """List the values of an override; of an interval the two ends; of factors none, because they are no values."""
    value = parsed.value()
    if isinstance(value, IntervalSweep | ChoiceSweep) and TIMES in value.tags:
        return []
    if isinstance(value, IntervalSweep):
        return [value.start, value.end]
    values = parsed.sweep_iterator() if parsed.is_sweep_override() else [value]
    return [each.text if isinstance(each, QuotedString) else each for each in values]


def with_value(parsed: Parsed, value: object) -> str:
    """Write the override with one of several values; as it was typed if it has but one."""
    several = parsed.is_sweep_override()
    return f"{parsed.get_key_element()}={as_typed(value)}" if several else str(parsed.input_line)


def one_by_one(text: str) -> Overrides:
    """Write an override with each of its values, as Hydra writes it: `seed=0,1` as `seed=0` and `seed=1`.

    An interval has its two ends, and factors of a value have none, see `values_of`.
    """
    parsed = parse(text)
    if not parsed.is_sweep_override():
        return Overrides([text])
    if isinstance(parsed.value(), IntervalSweep) or not values_of(parsed):
        return Overrides(with_value(parsed, value) for value in values_of(parsed))
    return Overrides(f"{Override(text).signed_key}={value}" for value in parsed.sweep_string_iterator())


def product_of(overrides: Iterable[str]) -> list[Overrides]:
    """List all combinations of the values of some overrides; those of the first one change slowest."""
    return [Overrides(combination) for combination in itertools.product(*map(one_by_one, overrides))]


def is_interval(text: str) -> bool:
    """Tell whether an override has an interval in place of values."""
    return isinstance(parse(text).value(), IntervalSweep)


def tags_of_choices(text: str) -> set[str]:
    """The tags of choices, as in `tag(log, choice(1, 2))`; none where there are none."""
    value = parse(text).value()
    return set(value.tags) if isinstance(value, ChoiceSweep) else set()


def has_tagged_range(text: str) -> bool:
    """Tell whether an override has a range with a tag, which means nothing."""
    value = parse(text).value()
    return isinstance(value, RangeSweep) and bool(value.tags)


@dataclass(frozen=True)
class Drawn:
    """What an override with tags draws from: `choices` as they are typed, or the ends of an interval."""

    tags: set[str]
    choices: list[str]
    ends: tuple[Any, Any] | None


def drawn_from(text: str) -> Drawn:
    """Read what an override draws from."""
    parsed = parse(text)
    sweep: Any = parsed.value()
    if isinstance(sweep, ChoiceSweep):
        return Drawn(set(sweep.tags), list(parsed.sweep_string_iterator()), None)
    return Drawn(set(sweep.tags), [], (sweep.start, sweep.end))


def yaml_value(text: str) -> Any:
    """Read the value of an override as a YAML file would have it."""
    return OmegaConf.from_dotlist([f"value={text}"]).value


def as_text(typed: Parsed) -> str:
    """Write the override with its numbers in quotes, so that Hydra takes them for texts: `run_group='2024'`."""
    texts, values = typed.get_value_string().split(","), values_of(typed)
    if len(texts) != len(values):
        return str(typed.input_line)
    numbers = [isinstance(value, int | float) for value in values]
    quoted = [f"'{text}'" if number else text for text, number in zip(texts, numbers, strict=True)]
    return f"{typed.get_key_element()}={','.join(quoted)}"
