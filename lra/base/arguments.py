"""Types and ranges of arguments, declared in signatures: whether a value is allowed, and how an error says what is.

`num_landmarks: Count` or `pinv: Literal["iterative", "exact"]` in a constructor, or in one of the declarations of
`lra.settings.option_groups`, is the only place that says so.
"""

import functools
import inspect
import math
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from annotated_types import Ge, Gt, Le, Lt
from pydantic import AllowInfNan, ConfigDict, TypeAdapter, ValidationError

from lra.types import UserError

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

TYPE_NAMES: dict[object, str] = {  # what a value of a type is called
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    str: "a word",
    list: "a list",
    dict: "a group of options",
    type(None): "null",
}
ANY_VALUE = object()  # the kind of an argument of which nothing is declared
Init = TypeVar("Init", bound=Callable[..., None])


class WrongValueError(UserError):
    """A value that an option cannot have: `unknown_choice`, or `wrong_value`; `right` are the choices, or the type."""

    def __init__(
        self, key: str, value: object, annotation: object, *, default: object = None, typed: str | None = None
    ):
        wrong = f"{typed or f'{key}={as_typed(value)}'} is not"
        if allowed := choices_of(annotation):
            choices = list(dict.fromkeys(map(as_typed, allowed)))
            line = f"{wrong} known; choose one of {', '.join(choices)}"
            super().__init__(line, kind="unknown_choice", key=key, value=value, right=choices)
        else:
            example = "" if default is None else f"; type for example {key}={as_typed(default)}"
            super().__init__(
                f"{wrong} {type_in_words(annotation)}{example}",
                kind="wrong_value",
                key=key,
                value=value,
                right=annotation,
            )


def check_choice(key: str, value: object, choices: Iterable[str]) -> None:
    """Refuse a value that is none of the words of an option.

    Raises:
        WrongValueError: with the words.
    """
    if value not in (allowed := tuple(choices)):
        raise WrongValueError(key, value, Literal[allowed])


def as_typed(value: object) -> str:
    """Write a value as a user types it."""
    if isinstance(value, float) and math.isfinite(value) and value == int(value) and abs(value) < 1e15:
        return str(int(value))
    if isinstance(value, list):
        return f"[{','.join(map(as_typed, value))}]"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def choices_of(annotation: object) -> tuple[object, ...]:
    """The words of a type that has words alone; none for another."""
    if get_origin(annotation) is Literal:
        return get_args(annotation)
    if get_origin(annotation) in (Union, types.UnionType):
        alone = {type(None): (None,), bool: (False, True)}
        parts = [alone.get(part) or choices_of(part) for part in get_args(annotation)]
        return tuple(word for part in parts for word in part) if all(parts) else ()
    return ()


def type_in_words(annotation: object) -> str:
    """Say what a value of a declared type is, such as `a whole number of at least 1`."""
    if get_origin(annotation) is Annotated:
        base, *limits = get_args(annotation)
        return f"{type_in_words(base)} {_range(limits)}".strip()
    if get_origin(annotation) is Literal:
        return " or ".join(map(as_typed, get_args(annotation)))
    if get_origin(annotation) in (Union, types.UnionType):
        return " or ".join(
            dict.fromkeys(word for part in get_args(annotation) for word in type_in_words(part).split(" or "))
        )
    if get_origin(annotation) is tuple:
        return f"a list of {len(get_args(annotation))}, each {type_in_words(get_args(annotation)[0])}"
    return TYPE_NAMES.get(get_origin(annotation) or annotation, getattr(annotation, "__name__", str(annotation)))


def _range(limits: Iterable[object]) -> str:
    limits_in_words = []
    for limit in limits:
        if isinstance(limit, Ge):
            limits_in_words.append(f"of at least {limit.ge}")
        elif isinstance(limit, Gt):
            limits_in_words.append(f"above {limit.gt}")
        elif isinstance(limit, Le) and limit.le != MOST_WHOLE:
            limits_in_words.append(f"and at most {limit.le}")
        elif isinstance(limit, Lt):
            limits_in_words.append(f"and below {limit.lt}")
    return " ".join(limits_in_words)


def _is_plain(annotation: object) -> bool:
    """Tell whether a type is one of configuration files: numbers, words, and lists and groups of these."""
    origin = get_origin(annotation)
    if origin is Literal or annotation in TYPE_NAMES:
        return True
    if origin is Annotated:
        return _is_plain(get_args(annotation)[0])
    return origin in (Union, types.UnionType, tuple, list, dict) and all(
        part in (..., Any) or _is_plain(part) for part in get_args(annotation)
    )


@functools.cache
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    return TypeAdapter(annotation, config=ConfigDict(strict=True))


def allows(annotation: object, value: object) -> bool:
    """Tell whether an argument of a declared type may have a value; there is no conversion, as of "1" to 1."""
    if choices := choices_of(annotation):
        return any(type(value) is type(choice) and value == choice for choice in choices)  # 1 is not true
    if not _is_plain(annotation):
        return True
    if isinstance(value, list) and get_origin(annotation) is tuple:  # YAML has no tuples
        value = tuple(value)
    try:
        _adapter(annotation).validate_python(value)
    except ValidationError:
        return False
    return True


@functools.cache
def declared_types(maker: Callable[..., Any]) -> tuple[dict[str, object], bool]:
    """Collect the declared types of the arguments of a class or function, and whether it takes others too (`**`)."""
    if not _has_signature(maker):
        return {}, True
    function = maker.__init__ if isinstance(maker, type) else maker  # type: ignore[misc]
    names = getattr(inspect.unwrap(function), "__globals__", {})
    types_by_name: dict[str, object] = {}
    parameters = inspect.signature(maker).parameters.values()
    for parameter in parameters:
        if parameter.kind not in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL):
            types_by_name[parameter.name] = _evaluated(parameter.annotation, names)
    return types_by_name, any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters)


def _has_signature(maker: Callable[..., Any]) -> bool:
    """Tell whether Python knows the arguments: not of a class that is written in C."""
    try:
        inspect.signature(maker)
    except ValueError:
        return False
    return True


def required_arguments(maker: Callable[..., Any]) -> list[str]:
    """List the keyword arguments without a default."""
    parameters = inspect.signature(maker).parameters.values() if _has_signature(maker) else ()
    keyword_only = [parameter for parameter in parameters if parameter.kind is parameter.KEYWORD_ONLY]
    return [parameter.name for parameter in keyword_only if parameter.default is parameter.empty]


def _evaluated(annotation: object, names: Mapping[str, Any]) -> object:
    if annotation in (inspect.Parameter.empty, Any):
        return ANY_VALUE
    if not isinstance(annotation, str):
        return annotation
    try:
        evaluated: object = eval(annotation, dict(names))
    except NameError:  # a name that is imported for type checkers alone
        return ANY_VALUE
    return ANY_VALUE if evaluated is Any else evaluated


def check_options(values: Mapping[str, object], annotations: Mapping[str, object]) -> None:
    """Refuse options that are not of their declared types.

    Args:
        values: the options by name.
        annotations: the declared types by name; an option without one may have any value.

    Raises:
        WrongValueError: for the first wrong value.
    """
    for name, value in values.items():
        if not allows(annotations.get(name, ANY_VALUE), value):
            raise WrongValueError(name, value, annotations[name])


def checked(init: Init) -> Init:
    """Decorate a constructor so that it refuses arguments outside their declared types.

    Raises:
        WrongValueError: by the constructor.
    """

    @functools.wraps(init)
    def with_check(self: Any, *args: Any, **arguments: Any) -> None:
        check_options(arguments, declared_types(init)[0])
        init(self, *args, **arguments)

    return with_check  # type: ignore[return-value]
