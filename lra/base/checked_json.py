"""Parse a JSON file and check it against a pydantic schema; the first error is worded as one line for the user."""

import json
from typing import Annotated, Any, TypeVar

from pydantic import Field, TypeAdapter, ValidationError

from lra.types import UserError

T = TypeVar("T")
SHOWN = 60  # characters of a wrong value that the error shows

Positive = Annotated[int, Field(ge=1, le=10**15)]
Count = Annotated[int, Field(ge=0, le=10**15)]


def parsed_json(content: str | bytes, location: object, remedy: str) -> Any:
    """Parse JSON; bytes are decoded as UTF-8.

    Raises:
        UserError: when the content is no JSON, or nested too deeply; with the place and the remedy.
    """
    try:
        return json.loads(content)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{location} is not JSON ({error}); {remedy}", kind="no_json", key=str(location)) from error


def checked(adapter: TypeAdapter[T], value: object, location: object, remedy: str) -> T:
    """Return `value` if it matches the schema strictly; no type is converted to another.

    Raises:
        UserError: one line with the place, the first wrong field, its value, what it should be, and the remedy.
    """
    try:
        return adapter.validate_python(value, strict=True)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False)[0]
    key = ".".join(map(str, wrong["loc"])) or "its content"
    if wrong["type"] == "missing":
        raise UserError(f"{location}: {key} is missing; {remedy}", kind="missing_field", key=key)
    shown = repr(wrong["input"])
    shown = shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…"
    _, should, what = wrong["msg"].partition(" should ")
    fault = f"should {what}" if should else f"is wrong ({wrong['msg']})"
    raise UserError(f"{location}: {key}={shown} {fault}; {remedy}", kind="wrong_field", key=key, value=wrong["input"])
