"""Arguments of compiled functions are accepted and refused as by pybind11."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from blsnb.pb_utils.compiled.conversions import Mismatch
from blsnb.pb_utils.compiled.signature import (
    INT32,
    INT64,
    MISSING,
    UINT32,
    UINT64,
    compiled,
    expect,
    incompatible,
    integer,
    list_of,
    real,
    string,
    truth,
)
from blsnb.pb_utils.tensor import Tensor


@pytest.mark.parametrize(
    ("limits", "low", "high"),
    [
        (INT32, -2147483648, 2147483647),
        (INT64, -9223372036854775808, 9223372036854775807),
        (UINT32, 0, 4294967295),
        (UINT64, 0, 18446744073709551615),
    ],
)
def test_an_integer_is_within_its_bits(
    limits: tuple[int, int], low: int, high: int
) -> None:
    """Both limits are accepted, and nothing beyond them."""
    assert [low, high] == [integer(low, limits), integer(high, limits)]
    assert int is type(integer(np.int8(3), limits))
    for beyond in (low - 1, high + 1):
        with pytest.raises(Mismatch):
            integer(beyond, limits)


@pytest.mark.parametrize(
    ("convert", "value", "expected"),
    [
        (real, 1, 1.0),
        (real, np.float32(0.5), 0.5),
        (real, np.int8(3), 3.0),
        (truth, 3, True),
        (truth, 0.0, False),
        (string, "a", "a"),
        (string, "ä", "ä"),
        (string, b"\xc3\xa4", "ä"),
    ],
)
def test_a_value_is_converted(convert: Any, value: Any, expected: Any) -> None:
    """The result has the type of the parameter."""
    found = convert(value)
    assert (type(expected), expected) == (type(found), found)


@pytest.mark.parametrize(
    ("convert", "value"),
    [
        (real, "1"),
        (real, 10**400),
        (real, None),
        (truth, "a"),
        (truth, None),
        (truth, []),
        (string, 1),
        (string, None),
    ],
)
def test_a_value_of_another_type_is_refused(convert: Any, value: Any) -> None:
    """Numbers in text are no numbers; an empty list is no bool."""
    with pytest.raises(Mismatch):
        convert(value)


def test_elements_of_a_list_have_one_class() -> None:
    """Any sequence becomes a list."""
    assert ["a"] == list_of(("a",), str)
    assert expect("a", str) is None
    for elements in ([1], ["a", 1]):
        with pytest.raises(Mismatch):
            list_of(elements, str)
    with pytest.raises(Mismatch):
        expect("a", int)


@pytest.mark.parametrize(
    ("args", "kwargs", "invoked"),
    [
        ((), {}, ""),
        ((1, "a"), {}, "1, 'a'"),
        ((), {"b": 2, "c": 3}, "kwargs: b=2, c=3"),
        ((1,), {"b": 2}, "1; kwargs: b=2"),
    ],
)
def test_the_error_shows_the_signature_and_the_call(
    args: tuple[Any, ...], kwargs: dict[str, Any], invoked: str
) -> None:
    """A constructor is shown without the object that it makes."""
    head = (
        "arguments. The following argument types are supported:\n    1. {}\n\n"
        f"Invoked with: {invoked}"
    )
    function = incompatible("f(arg0: str) -> None", args, kwargs)
    constructor = incompatible("m.C(arg0: str)", (object(), *args), kwargs)

    shown = head.format("(arg0: str) -> None")
    assert f"f(): incompatible function {shown}" == str(function)
    shown = head.format("m.C(arg0: str)")
    assert f"__init__(): incompatible constructor {shown}" == str(constructor)


@compiled("f(arg0: str) -> None")
def compiled_function(value: str) -> None:
    """Fail as its argument says."""
    if value == "mismatch":
        raise Mismatch
    if value == "type":
        raise TypeError("own")
    raise AttributeError("own")


def test_an_error_of_the_call_itself_passes() -> None:
    """Only one about the arguments is replaced."""
    with pytest.raises(TypeError, match=r"^own$"):
        compiled_function("type")
    for arguments in (("mismatch",), (), ("a", "b")):
        with pytest.raises(TypeError, match=r"^f\(\): incompatible function"):
            compiled_function(*arguments)


def test_a_method_needs_its_object() -> None:
    """An attribute that another object lacks is an error about the arguments."""
    with pytest.raises(TypeError, match=r"^name\(\): incompatible function"):
        Tensor.name(3)
    with pytest.raises(TypeError, match="incompatible function"):
        compiled_function("attribute")
    assert "<not given>" == repr(MISSING)
