"""Checks of arguments that users pass to public functions, and warnings to users."""

from __future__ import annotations

import difflib
import errno
import ipaddress
import math
import os
import reprlib
import sys
import warnings
from collections.abc import Collection, Iterable, Mapping
from numbers import Real
from pathlib import Path
from typing import Any, NoReturn, get_args
from urllib.parse import urlsplit

_PATH = (str, os.PathLike)
_MIN_SIMILARITY = 0.6
_PASSED = ("blsnb", "IPython", "contextlib")
"""Packages whose lines a warning does not show."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return "Did you mean …?" for a similar known name, else "".

    Case does not count: ``image`` is similar to ``IMAGE``.
    """
    by_lower = {each.lower(): each for each in known if each != name}
    found = difflib.get_close_matches(name.lower(), by_lower, 1, _MIN_SIMILARITY)
    return f"Did you mean {by_lower[found[0]]!r}?" if found else ""


def names_advice(name: str, kind: str, known: list[str]) -> str:
    """Return advice with a similar name and all known names."""
    listed = f"Its {kind} are: {', '.join(known)}."
    return " ".join(filter(None, (did_you_mean(name, known), listed)))


def check_type(
    name: str,
    value: object,
    kind: Any,
    expected: str,
    error: type[TypeError] = TypeError,
) -> None:
    """Refuse an argument of another type; a bool is no number.

    Parameters
    ----------
    kind
        A type or a union, as for `isinstance`.
    expected
        The valid values, in words.
    error
        Class of the error, which names the argument, its value, and `expected`.
    """
    __tracebackhide__ = True
    is_flag = isinstance(value, bool) and bool not in (get_args(kind) or (kind,))
    if is_flag or not isinstance(value, kind):
        refuse(name, value, expected, error)


def refuse(
    name: str, value: object, expected: str, error: type[TypeError] = TypeError
) -> NoReturn:
    """Raise the error of an invalid argument."""
    __tracebackhide__ = True
    raise error(f"{name}={reprlib.repr(value)} is not valid; expected {expected}")


def plain(value: Any) -> Any:
    """Return a scalar of NumPy as Python's own; anything else as it is."""
    return value.item() if getattr(value, "shape", None) == () else value


def several(value: Any) -> list[Any]:
    """Return one value, or the values of an iterable, with Python's numbers."""
    value = plain(value)
    return [*map(plain, value if isinstance(value, Iterable) else (value,))]


def check_text(**arguments: object) -> None:
    """Refuse arguments that are not strings."""
    __tracebackhide__ = True
    for name, value in arguments.items():
        check_type(name, value, str, "a string")


def check_flags(error: type[TypeError] = TypeError, /, **arguments: object) -> None:
    """Refuse arguments that are not booleans, those of NumPy included, or 0 or 1."""
    __tracebackhide__ = True
    for name, value in arguments.items():
        is_number = isinstance(value, Real) and value in (0, 1)
        if not is_number and type(value).__name__ not in ("bool", "bool_"):
            refuse(name, value, "True or False", error)


def check_numbers(
    minimum: int = 0, maximum: float = math.inf, /, **arguments: object
) -> None:
    """Refuse arguments that are not numbers in a range.

    Raises
    ------
    TypeError
        One is not a number.
    ValueError
        One is out of range, or NaN.
    """
    __tracebackhide__ = True
    end = "or more" if maximum == math.inf else f"to {maximum:,}"
    for name, value in arguments.items():
        if isinstance(value, bool) or not isinstance(value, Real):
            refuse(name, value, f"a number of {minimum} or more")
        try:
            number = float(value)
        except OverflowError:
            text = f"{name}={reprlib.repr(value)} is too large"
            raise ValueError(text) from None
        if not minimum <= number <= maximum:
            expected = f"{minimum} {end}"
            raise ValueError(f"{name}={value} is not valid; expected {expected}")


def check_positive(maximum: float = math.inf, /, **arguments: object) -> None:
    """Refuse arguments that are not finite numbers of more than 0.

    Raises
    ------
    TypeError
        One is not a number.
    ValueError
        One is out of range, NaN, or larger than any float.
    """
    __tracebackhide__ = True
    end = "" if maximum == math.inf else f" and at most {maximum:,}"
    for name, value in arguments.items():
        check_type(name, value, Real, "a number")
        if not 0 < value <= min(maximum, sys.float_info.max):  # type: ignore[operator]
            expected = f"more than 0{end}"
            text = f"{name}={reprlib.repr(value)} is not valid; expected {expected}"
            raise ValueError(text)


def check_whole(
    minimum: int = 0, maximum: float = math.inf, /, **arguments: object
) -> None:
    """Refuse arguments that are not whole numbers in a range; ``1e9`` is valid.

    Raises
    ------
    TypeError
        One is not a whole number.
    ValueError
        One is out of range.
    """
    __tracebackhide__ = True
    check_numbers(minimum, maximum, **arguments)
    for name, value in arguments.items():
        if not float(value).is_integer():  # type: ignore[arg-type]
            refuse(name, value, f"a whole number of {minimum} or more")


def bytes_of(**argument: Any) -> int | None:
    """Return a number of bytes, such as ``4e9``, or None for the default."""
    __tracebackhide__ = True
    [(name, value)] = argument.items()
    if value is None:
        return None
    is_number = isinstance(value, Real) and not isinstance(value, bool)
    if not is_number or value % 1 != 0:
        refuse(name, value, "a number, or None")
    return int(value)


def version_of(version: Any) -> int:
    """Return a model version, which is a number; -1 is the newest."""
    __tracebackhide__ = True
    number = plain(version)
    if not isinstance(number, int) or isinstance(number, bool):
        refuse("version", version, "a version number, such as 1")
    return number


def check_names(**arguments: object) -> None:
    """Refuse arguments that are neither None nor collections of strings."""
    __tracebackhide__ = True
    for name, value in arguments.items():
        value = plain(value)
        if value is None:
            continue
        is_list = isinstance(value, Collection) and not isinstance(value, str | bytes)
        if not is_list or not all(isinstance(each, str) for each in value):
            refuse(name, value, "a list of names")


def check_path(**arguments: object) -> None:
    """Refuse arguments that are not paths."""
    __tracebackhide__ = True
    for name, value in arguments.items():
        if not isinstance(value, _PATH) or isinstance(os.fspath(value), bytes):
            refuse(name, value, "a path: a string or a pathlib.Path")


def path_of(**argument: Any) -> Path:
    """Return a path, in which ``~`` is expanded.

    Raises
    ------
    TypeError
        It is not a path.
    OSError
        No file can have this path.
    """
    __tracebackhide__ = True
    check_path(**argument)
    [given] = argument.values()
    try:
        path = Path(given).expanduser()
    except RuntimeError:
        raise FileNotFoundError(errno.ENOENT, "no such user", str(given)) from None
    if not is_possible_path(path):
        what = "no file can have this path"
        raise OSError(errno.EINVAL, what, str(given))
    return path


def is_possible_path(path: str | Path) -> bool:
    """Whether the system can be given a path: bytes, of which none is null."""
    try:
        return b"\0" not in os.fsencode(path)
    except UnicodeEncodeError:
        return False


def check_folders(**arguments: object) -> None:
    """Refuse arguments that are neither None nor one or several paths."""
    __tracebackhide__ = True
    for name, value in arguments.items():
        value = plain(value)
        if value is None or isinstance(value, _PATH):
            continue
        is_list = isinstance(value, Iterable) and not isinstance(value, bytes)
        if not is_list or not all(isinstance(each, _PATH) for each in value):
            refuse(name, value, "a folder, or a list of folders")


def is_loopback(host: str) -> bool:
    """Whether a name or an address always means this machine."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def is_http_url(url: str) -> bool:
    """Return whether a text is a URL of HTTP, with a host and no port 0."""
    try:
        parts = urlsplit(url)
        return (
            parts.scheme in ("http", "https")
            and bool(parts.hostname)
            and parts.port != 0
        )
    except ValueError:
        return False


def check_mapping(**arguments: object) -> None:
    """Refuse arguments that are neither None nor mappings."""
    __tracebackhide__ = True
    for name, value in arguments.items():
        check_type(name, value, Mapping | None, "a dict")


def check_callable(**arguments: object) -> None:
    """Refuse arguments that are neither None nor callable."""
    __tracebackhide__ = True
    for name, value in arguments.items():
        if value is not None and not callable(value):
            refuse(name, value, "a function")


def warn_user(text: str) -> None:
    """Warn at the line of the user's code, which called blsnb."""
    level, frame = 2, sys._getframe(1)
    while frame.f_back and frame.f_globals["__name__"].split(".")[0] in _PASSED:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, stacklevel=level)
