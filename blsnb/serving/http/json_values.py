"""Typed access to values of a JSON body, with the texts of Triton for other types."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.parameters import until_nul
from blsnb.serving.http.json_body import Json

T = TypeVar("T")
D = TypeVar("D")
_UNSIGNED = range(2**64)


def wrong_type(expected: str, access: str = "") -> RequestError:
    """Return the error for a value that has another type."""
    text = f"attempt to access JSON non-{expected} as {access or expected}"
    return RequestError(text, "INTERNAL")


def is_unsigned(value: Json) -> bool:
    """Whether a value is an integer that fits into 64 bits without a sign."""
    return type(value) is int and value in _UNSIGNED


def as_string(value: Json) -> str:
    """Return a string up to its first NUL, where a C string ends."""
    return valid_unicode(until_nul(as_text(value)))


def valid_unicode(text: str) -> str:
    """Replace invalid UTF-8, as the text may be shown and saved with a run.

    Triton passes the bytes on unchanged.
    """
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _as(kind: type[T], name: str) -> Callable[[Json], T]:
    """Return a function that returns a value of a type, and refuses all others."""

    def checked(value: Json) -> T:
        if not isinstance(value, kind):
            raise wrong_type(name)
        return value

    return checked


as_text = _as(str, "string")
"""Return a whole string, which may contain NUL."""
as_boolean = _as(bool, "boolean")
as_array = _as(list, "array")
as_object = _as(dict, "object")


def as_unsigned(value: Json) -> int:
    """Return an integer that is not negative."""
    if not is_unsigned(value):
        raise wrong_type("unsigned-integer")
    return int(value)


def members(value: Json) -> dict[str, Json]:
    """Return the members of an object."""
    if not isinstance(value, dict):
        raise RequestError("attempt to get members for non-object", "INTERNAL")
    return value


def has(value: Json, name: str) -> bool:
    """Whether a value is an object with this member."""
    return isinstance(value, dict) and name in value


def find(value: Json, name: str) -> Json:
    """Return a member; None if the value is not an object or lacks the member."""
    return value.get(name) if isinstance(value, dict) else None


def member(value: Json, name: str) -> Json:
    """Return a required member."""
    if not has(value, name):
        raise RequestError(
            f"attempt to access non-existing object member '{name}'", "INTERNAL"
        )
    return value[name]


def parameter(value: dict[str, Json], name: str) -> Json:
    """Return a parameter; it is missing if its name was cut at a NUL."""
    if name not in value:
        raise RequestError(
            f"parameter key '{name}' was not found in the JSON", "INTERNAL"
        )
    return value[name]


class error_prefix:
    """Context manager that puts text before the message of a `RequestError`.

    A class, because every request enters several and generators are slower.
    """

    __slots__ = ("_text",)

    def __init__(self, text: str) -> None:
        self._text = text

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, *__: object) -> None:
        if isinstance(error, RequestError):
            raise RequestError(f"{self._text}: {error.message}", error.code) from None


def required(value: Json, name: str, convert: Callable[[Json], T]) -> T:
    """Return a converted member; errors name it."""
    with error_prefix(f"Unable to parse '{name}'"):
        return convert(member(value, name))


def optional(
    value: Json,
    name: str,
    convert: Callable[[Json], T],
    default: D,
    error: str = "Unable to parse",
) -> T | D:
    """Return a converted member, or the default without one; errors name it."""
    if not has(value, name):
        return default
    with error_prefix(f"{error} '{name}'"):
        return convert(value[name])
