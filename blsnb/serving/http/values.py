"""HttpValues: members of JSON texts by type, or Triton's word on what they are."""

from __future__ import annotations

from types import TracebackType

from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.parameters import until_nul
from blsnb.serving.http.json_body import Json

_SIGNED = range(-(2**63), 2**63)
_UNSIGNED = range(2**64)


def _not_a(found: str, wanted: str) -> RequestError:
    return RequestError(f"attempt to access JSON non-{found} as {wanted}", "INTERNAL")


def is_integer(value: Json) -> bool:
    """Whether a value is a whole number that has a place in 64 bits and a sign."""
    return type(value) is int and value in _SIGNED


def is_unsigned(value: Json) -> bool:
    """Whether a value is a whole number that has a place in 64 bits without a sign."""
    return type(value) is int and value in _UNSIGNED


def as_string(value: Json) -> str:
    """Return a value that must be a string, as far as a C string goes: until a NUL.

    Raises
    ------
    RequestError
        It is none; so of all functions here.
    """
    return clean(until_nul(as_text(value)))


def clean(text: str) -> str:
    """Return a text that is UTF-8, whatever its client sent.

    It may become part of a run, which is shown and saved; Triton hands its bytes on.
    """
    if text.isascii():
        return text
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def as_text(value: Json) -> str:
    """Return a value that must be a string, whole."""
    if not isinstance(value, str):
        raise _not_a("string", "string")
    return value


def as_boolean(value: Json) -> bool:
    """Return a value that must be true or false."""
    if not isinstance(value, bool):
        raise _not_a("boolean", "boolean")
    return value


def as_unsigned(value: Json) -> int:
    """Return a value that must be a whole number, and not negative."""
    if not is_unsigned(value):
        raise _not_a("unsigned-integer", "unsigned-integer")
    return int(value)


def as_array(value: Json) -> list[Json]:
    """Return a value that must be a list."""
    if not isinstance(value, list):
        raise _not_a("array", "array")
    return value


def as_object(value: Json) -> dict[str, Json]:
    """Return a value that must be an object."""
    if not isinstance(value, dict):
        raise _not_a("object", "object")
    return value


def members(value: Json) -> dict[str, Json]:
    """Return the members of a value that must be an object, and says so otherwise."""
    if not isinstance(value, dict):
        raise RequestError("attempt to get members for non-object", "INTERNAL")
    return value


def has(value: Json, name: str) -> bool:
    """Whether a value is an object with such a member."""
    return isinstance(value, dict) and name in value


def find(value: Json, name: str) -> Json:
    """Return a member; None where there is none, whatever the value is."""
    return value.get(name) if isinstance(value, dict) else None


def member(value: Json, name: str) -> Json:
    """Return a member that must be there."""
    if not has(value, name):
        raise RequestError(
            f"attempt to access non-existing object member '{name}'", "INTERNAL"
        )
    return value[name]


def parameter(value: dict[str, Json], name: str) -> Json:
    """Return a parameter that must be there: its name may have been cut."""
    if name not in value:
        raise RequestError(
            f"parameter key '{name}' was not found in the JSON", "INTERNAL"
        )
    return value[name]


class told:
    """Puts words before what is said of a wrong value.

    A class, as each request goes through several.
    """

    __slots__ = ("_what",)

    def __init__(self, what: str) -> None:
        self._what = what

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, RequestError):
            raise RequestError(f"{self._what}: {error.message}", error.code) from None


def parsing(name: str) -> told:
    """Name the member that is read."""
    return told(f"Unable to parse '{name}'")
