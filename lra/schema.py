"""What comes from a file is checked against a declared type: one line says what is wrong with it."""

from __future__ import annotations

from typing import TypeVar

from pydantic import TypeAdapter, ValidationError

from lra.types import UserError

T = TypeVar("T")
LONGEST = 60  # signs of a wrong value that are shown


def checked(adapter: TypeAdapter[T], value: object, place: object, remedy: str) -> T:
    """The value, if it is what the adapter's type says.

    Args:
        adapter: of a `TypedDict` whose ranges are declared with `Annotated`.
        value: as JSON gave it.
        place: where it stands, for the message.
        remedy: what to do about a wrong one.

    Raises:
        UserError: with the first wrong field, its value, and what is wrong.
    """
    try:
        return adapter.validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
    key = ".".join(str(part) for part in first["loc"])
    if first["type"] == "missing":
        raise UserError(f"{place}: {key} is missing; {remedy}")
    shown = repr(first["input"])
    shown = shown if len(shown) <= LONGEST else f"{shown[:LONGEST]}…"
    wrong = first["msg"][:1].lower() + first["msg"][1:]
    raise UserError(f"{place}: {f'{key}=' if key else ''}{shown}: {wrong}; {remedy}")
