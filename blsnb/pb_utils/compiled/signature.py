"""Accept and refuse arguments like functions compiled by pybind11."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

from blsnb.pb_utils.compiled.conversions import Mismatch, as_int, as_text, items

F = TypeVar("F", bound=Callable[..., Any])

INT32 = (-(2**31), 2**31 - 1)
INT64 = (-(2**63), 2**63 - 1)
UINT32 = (0, 2**32 - 1)
UINT64 = (0, 2**64 - 1)
_SEQUENCES = (list, tuple)
_COMPILED = "pybind11_builtins"
NO_CAST = (
    "Unable to cast Python instance to C++ type (#define "
    "PYBIND11_DETAILED_ERROR_MESSAGES or compile in debug mode for details)"
)
"""Error text for an element of the wrong type."""


class Missing:
    """The value of an omitted parameter, where None is a valid value."""

    def __repr__(self) -> str:
        return "<not given>"


MISSING: Any = Missing()


def compiled(signature: str) -> Callable[[F], F]:
    """Make a function raise a compiled function's errors for its arguments.

    Parameters
    ----------
    signature
        The compiled function's, ``"f(arg0: str) -> None"``; without ``->`` it is a
        constructor's.

    References
    ----------
    pybind11: include/pybind11/pybind11.h, cpp_function::dispatcher
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            __tracebackhide__ = True
            try:
                return function(*args, **kwargs) if kwargs else function(*args)
            except (Mismatch, TypeError, AttributeError) as error:
                if not _refuses(error, function, args, kwargs):
                    raise
            raise incompatible(signature, args, kwargs)

        return call  # type: ignore[return-value]

    return decorate


def _refuses(
    error: Exception,
    function: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
) -> bool:
    """Whether an exception is about the arguments of the call."""
    if isinstance(error, TypeError):
        return not _binds(function, args, kwargs)
    if isinstance(error, AttributeError):
        return not (args and type(type(args[0])).__module__ == _COMPILED)
    return True


def _binds(
    function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
) -> bool:
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def incompatible(
    signature: str, args: tuple[Any, ...], kwargs: dict[str, Any]
) -> TypeError:
    """Return the error of a call whose arguments do not match the signature."""
    if "->" in signature:
        name, parameters = signature.split("(", 1)
        kind, shown = "function", f"({parameters}"
    else:
        name, kind, shown, args = "__init__", "constructor", signature, args[1:]
    named = ", ".join(f"{key}={value!r}" for key, value in kwargs.items())
    invoked = ", ".join(map(repr, args))
    if named:
        invoked += f"{'; ' if invoked else ''}kwargs: {named}"
    return TypeError(
        f"{name}(): incompatible {kind} arguments. The following argument types are "
        f"supported:\n    1. {shown}\n\nInvoked with: {invoked}"
    )


def integer(value: Any, limits: tuple[int, int]) -> int:
    """Convert the argument of an integer parameter; raise `Mismatch` out of range."""
    if type(value) is not int:
        value = as_int(value)
    if not limits[0] <= value <= limits[1]:
        raise Mismatch
    number: int = value
    return number


def real(value: Any) -> float:
    """Convert the argument of a floating-point parameter, or raise `Mismatch`."""
    if not (hasattr(value, "__float__") or hasattr(value, "__index__")):
        raise Mismatch
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        raise Mismatch from None


def truth(value: Any) -> bool:
    """Convert the argument of a bool parameter; its type must define a truth value."""
    if isinstance(value, str) or not hasattr(type(value), "__bool__") or value is None:
        raise Mismatch
    return bool(value)


def string(value: Any) -> str:
    """Convert the argument of a string parameter; bytes are decoded as UTF-8."""
    if type(value) is str and value.isascii():
        return value
    return as_text(value)


def expect(value: Any, kind: type) -> None:
    """Raise `Mismatch` unless the value is of a class."""
    if not isinstance(value, kind):
        raise Mismatch


def list_of(value: Any, kind: type | tuple[type, ...]) -> list[Any]:
    """Convert a sequence whose elements are of a class to a list."""
    if not isinstance(value, _SEQUENCES):
        value = items(value)
    for item in value:
        if not isinstance(item, kind):
            raise Mismatch
    return list(value)
