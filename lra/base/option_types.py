"""Types and ranges of arguments, declared in signatures: whether a value is allowed, and how an error says what is.

`num_landmarks: Count` or `pinv: Literal["iterative", "exact"]` in a constructor, or in one of the declarations of
`lra.settings.option_groups`, is the only place that says so.
"""

import functools
import math
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import astuple
from difflib import get_close_matches
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt
from pydantic import AllowInfNan, ConfigDict, TypeAdapter, ValidationError

from lra.base.overrides import Override
from lra.base.printed_commands import override, shell_word
from lra.types import UserError

ALIKE = 0.6  # least share of equal letters, in [0, 1], of a wrong word and the one that was meant, among a group's
FEW = 6  # choices among which a user sees at once which one was meant
MOST_LISTED = 24  # names that an error lists: every attention, but not every setting
MOST_WHOLE = 2**31 - 1
Count = Annotated[int, Ge(1), Le(MOST_WHOLE)]
CountOrZero = Annotated[int, Ge(0), Le(MOST_WHOLE)]
Width = Annotated[int, Ge(1), Le(1 << 14)]  # of a layer; this and the next three: more would be built for minutes
WidthOrZero = Annotated[int, Ge(0), Le(1 << 14)]
Depth = Annotated[int, Ge(1), Le(1 << 10)]  # number of layers
BatchSize = Annotated[int, Ge(1), Le(1 << 16)]
AtLeastTwo = Annotated[int, Ge(2), Le(MOST_WHOLE)]
Seed = Annotated[int, Ge(0), Le(2**32 - 1)]  # the largest seed that numpy's generators take
Fraction = Annotated[float, Ge(0), Lt(1)]
PositiveFraction = Annotated[float, Gt(0), Lt(1)]
PositiveUpToOne = Annotated[float, Gt(0), Le(1)]
NonNegative = Annotated[float, Ge(0), AllowInfNan(False)]
Positive = Annotated[float, Gt(0), AllowInfNan(False)]
Names = dict[str, Any]  # a group whose names are not lra's alone, such as the options of a class
Kind = TypeVar("Kind")
ABSENT = "absent"
MayLack = Annotated[Kind | None, ABSENT]  # of a field that some configurations lack, which is then None

# Options of a class or group that other options may turn off: each with those that give it an effect, and the types of
# the values that do, any of which is enough. Another option is one of the same group, or has dots.
Effects = Mapping[str, Mapping[str, object]]

TYPE_NAMES: dict[object, str] = {  # what a value of a type is called
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a word",
    list: "a list",
    dict: "a group of options",
    type(None): "null",
}
LIMIT_NAMES: dict[type, str] = {Ge: "of at least", Gt: "above", Le: "and at most", Lt: "and below"}
UNIONS = (Union, types.UnionType)
Init = TypeVar("Init", bound=Callable[..., None])


class WrongValueError(UserError):
    """A value that an option cannot have: `unknown_choice`, or `wrong_value`; `right` are the choices, or the type."""

    def __init__(self, key: str, value: object, kind: object, *, default: object = None, typed: str | None = None):
        typed = typed or f"{key}={as_typed(value)}"
        line = f"{typed} is not "
        choices = list(dict.fromkeys(map(as_typed, choices_of(kind))))
        listed = f"choose one of {', '.join(choices)}"
        if choices:
            line += f"known; {nearest(as_typed(value), choices) if len(choices) > FEW else listed}"
        else:
            name = Override(typed).signed_key
            right = override(name, default) if isinstance(default, str) else f"{name}={as_typed(default)}"
            example = f"; type for example {shell_word(right)}"
            line += type_in_words(kind) + ("" if default is None else example)
        mistake = "unknown_choice" if choices else "wrong_value"
        super().__init__(line, kind=mistake, key=key, value=value, right=choices or kind)


def check_choice(key: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a value that is none of the words of an option.

    Raises:
        WrongValueError: with the words.
    """
    if value not in (allowed := tuple(choices)):
        raise WrongValueError(key, value, Literal[allowed])


def nearest(name: str, known: Sequence[str]) -> str:
    """What a wrong name was meant to be, or may be."""
    near = get_close_matches(name, known, n=1, cutoff=ALIKE)
    if near:
        return f"did you mean {near[0]}?"
    return f"choose one of {', '.join(known)}" if len(known) <= MOST_LISTED else "no name is like it"


def as_typed(value: object) -> str:
    """Write a value as a user types it."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, list):
        return f"[{','.join(map(as_typed, value))}]"
    if isinstance(value, dict):
        return f"{{{','.join(f'{name}:{as_typed(each)}' for name, each in value.items())}}}"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def choices_of(kind: object) -> tuple[object, ...]:
    """The words of a type that has words alone; none for another."""
    if get_origin(kind) is Literal:
        return get_args(kind)
    if get_origin(kind) not in UNIONS:
        return ()
    alone = {type(None): (None,), bool: (False, True)}
    parts = [alone.get(part) or choices_of(part) for part in get_args(kind)]
    return tuple(choice for part in parts for choice in part) if all(parts) else ()


def type_in_words(kind: object) -> str:
    """Say what a value of a declared type is, such as `a whole number of at least 1`."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        limits = [(LIMIT_NAMES[type(limit)], *astuple(limit)) for limit in parts[1:] if type(limit) in LIMIT_NAMES]
        return " ".join([type_in_words(parts[0]), *(f"{name} {end}" for name, end in limits if end != MOST_WHOLE)])
    if origin is Literal:
        return " or ".join(map(as_typed, parts))
    if origin in UNIONS:
        return " or ".join(dict.fromkeys(name for part in parts for name in type_in_words(part).split(" or ")))
    if origin is tuple:
        return f"a list of {len(parts)}, each {type_in_words(parts[0])}"
    return TYPE_NAMES.get(origin or kind, getattr(kind, "__name__", str(kind)))


def _is_plain(kind: object) -> bool:
    """Tell whether a type is one of configuration files: numbers, words, and lists and groups of these."""
    origin, parts = get_origin(kind), get_args(kind)
    if origin is Annotated:
        return _is_plain(parts[0])
    of_plain = origin in (*UNIONS, tuple, list, dict) and all(part in (..., Any) or _is_plain(part) for part in parts)
    return origin is Literal or kind in TYPE_NAMES or of_plain


@functools.cache
def _adapter(kind: Any) -> TypeAdapter[Any]:
    return TypeAdapter(kind, config=ConfigDict(strict=True))


def allows(kind: object, value: object) -> bool:
    """Tell whether an argument of a declared type may have a value; there is no conversion, as of "1" to 1."""
    if choices := choices_of(kind):
        return any(type(value) is type(choice) and value == choice for choice in choices)  # 1 is not true
    if not _is_plain(kind):
        return True
    try:  # YAML has no tuples
        _adapter(kind).validate_python(tuple(value) if isinstance(value, list) and get_origin(kind) is tuple else value)
    except ValidationError:
        return False
    return True


@functools.cache
def argument_types(function: Callable[..., Any]) -> dict[str, object]:
    """Collect the declared types of a function's arguments; any type where only type checkers import the name."""
    names = getattr(function, "__globals__", {})
    kinds = dict(getattr(function, "__annotations__", {}))
    for name, kind in kinds.items():
        if isinstance(kind, str):
            try:
                kinds[name] = eval(kind, dict(names))
            except NameError:
                kinds[name] = Any
    return kinds


class Section(dict[str, Any]):
    """The values of such a group, also as attributes."""

    def __getattr__(self, name: str) -> Any:
        """Return the value of a name.

        Raises:
            AttributeError: for a name that is not there.
        """
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse what would change nothing.

        Raises:
            AttributeError: always.
        """
        raise AttributeError(f"{name} cannot be set; make another configuration: cfg.changed({{…}})")


def kinds_of(group: type) -> dict[str, Any]:
    """Collect the declared types of the fields of a group, by the names in files: `from_` is Python's for `from`."""
    return {name.rstrip("_"): _present(kind) for name, kind in get_type_hints(group, include_extras=True).items()}


def _present(kind: Any) -> Any:
    """The type that a field of `MayLack` has where it is there: null is none of its values."""
    if kind is Section:
        return Names
    if get_origin(kind) in UNIONS:
        return Union[tuple(_present(part) for part in get_args(kind))]  # noqa: UP007 - of a tuple
    if get_origin(kind) is not Annotated or ABSENT not in get_args(kind)[1:]:
        return kind
    present = tuple(_present(part) for part in get_args(get_args(kind)[0]) if part is not type(None))
    return Union[present]  # noqa: UP007 - of a tuple


def first_wrong(values: Mapping[str, object], kinds: Mapping[str, object]) -> str | None:
    """Name the first value that its declared type does not allow; one without a type may be anything."""
    return next((name for name, value in values.items() if not allows(kinds.get(name, Any), value)), None)


def checked(init: Init) -> Init:
    """Decorate a constructor so that it refuses keyword arguments outside their declared types.

    Raises:
        WrongValueError: by the constructor.
    """
    kinds = argument_types(init)

    @functools.wraps(init)
    def with_check(self: Any, *args: Any, **arguments: Any) -> None:
        wrong = first_wrong(arguments, kinds)
        if wrong is not None:
            raise WrongValueError(wrong, arguments[wrong], kinds[wrong])
        init(self, *args, **arguments)

    return with_check  # type: ignore[return-value]
