"""Tensors in JSON and in binary form, both ways."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blsnb.engine.request.validation import RequestError
from blsnb.serving.core.wire import WireTensor
from blsnb.serving.http.json_body import Json
from blsnb.serving.http.messages import compressed, decompressed
from blsnb.serving.http.models import decode_base64
from blsnb.serving.http.tensors import elements_of, read, read_strings

TYPES = {
    "BOOL": st.booleans(),
    "UINT8": st.integers(0, 255),
    "INT16": st.integers(-(2**15), 2**15 - 1),
    "INT64": st.integers(-(2**63), 2**63 - 1),
    "UINT64": st.integers(0, 2**64 - 1),
    "FP32": st.floats(width=32, allow_nan=False),
    "FP64": st.floats(allow_nan=False),
    "BYTES": st.text(st.characters(exclude_categories=["Cs"])),
}


@pytest.mark.parametrize("datatype", TYPES)
@given(data=st.data())
def test_elements_survive_a_round_trip(datatype: str, data: st.DataObject) -> None:
    """Every datatype and nesting survives."""
    elements = data.draw(st.lists(TYPES[datatype], max_size=8))
    nested = [elements[:2], [[each] for each in elements[2:]]]

    if datatype == "BYTES":
        found = read_strings(nested, 0)
    else:
        found = read("X", datatype, nested, len(elements))
    tensor = WireTensor("X", datatype, (len(elements),), found)

    assert elements == elements_of(tensor)


def test_elements_may_be_in_202_lists() -> None:
    """Deeper ones are refused before Python's own limit is reached."""
    nested: Json = "a"
    for _ in range(202):
        nested = [nested]

    assert b"\x01\x00\x00\x00a" == read_strings(nested, 0)
    with pytest.raises(RequestError, match="Shape does not match true shape"):
        read_strings([nested], 0)


@pytest.mark.parametrize(
    ("datatype", "given_", "expected"),
    [
        ("INT8", 300, 44),
        ("INT32", 2**40, 0),
        ("UINT8", 511, 255),
        ("INT64", -(2**63), -(2**63)),
    ],
)
def test_integers_wrap_around(datatype: str, given_: int, expected: int) -> None:
    """Triton checks no range, either."""
    tensor = WireTensor("X", datatype, (1,), read("X", datatype, [given_], 1))

    assert [expected] == elements_of(tensor)


def test_a_number_beyond_its_type_is_infinite() -> None:
    """C does the same."""
    tensor = WireTensor("X", "FP32", (2,), read("X", "FP32", [1e300, -1e300], 2))

    assert [np.inf, -np.inf] == elements_of(tensor)


@pytest.mark.parametrize(
    ("datatype", "data", "text"),
    [
        ("FP32", [1, "a", 3], "attempt to access JSON non-number as double"),
        ("FP32", [1, 2, "a"], "Shape does not match true shape of 'data' field"),
        ("FP32", [1], "Shape does not match true shape of 'data' field"),
        (
            "UINT16",
            [1, -1],
            "attempt to access JSON non-unsigned-integer as unsigned-integer",
        ),
    ],
)
def test_invalid_elements_are_refused(
    datatype: str, data: list[object], text: str
) -> None:
    """Elements beyond the shape are not checked."""
    with pytest.raises(RequestError) as caught:
        read("X", datatype, data, 2)

    assert f"Unable to parse 'data': {text}" == caught.value.message


@pytest.mark.parametrize(
    ("datatype", "accepted", "refused", "name"),
    [
        ("INT8", [-(2**63), 2**63 - 1], [2**63, -(2**63) - 1, 1.0, True], "signed-int"),
        ("INT64", [-(2**63), 2**63 - 1], [2**63, -(2**63) - 1, "1"], "signed-integer"),
        ("UINT8", [0, 2**64 - 1], [2**64, -1, 1.0, False], "unsigned-integer"),
        ("UINT64", [0, 2**64 - 1], [2**64, -1, None], "unsigned-integer"),
        ("BOOL", [False, True], [0, 1, 0.0, {}], "boolean"),
        ("FP32", [0, 10**308, -1.5, np.nan], [True, "1", None], "number"),
        ("FP64", [-(10**308), 1.5, np.inf, 7], [True, "1", {}], "number"),
    ],
)
def test_each_datatype_has_its_elements(
    datatype: str, accepted: list[object], refused: list[object], name: str
) -> None:
    """Neither integers beyond 64 bits nor other JSON types are converted."""
    assert read("X", datatype, accepted, len(accepted))
    for element in refused:
        with pytest.raises(RequestError, match=f"attempt to access JSON non-{name}"):
            read("X", datatype, [*accepted, element], len(accepted) + 1)


@pytest.mark.parametrize("datatype", ["FP16", "BF16"])
def test_half_floats_are_binary_only(datatype: str) -> None:
    """Other datatypes than Triton's are invalid."""
    tensor = WireTensor("X", datatype, (1,), bytes(2))
    told = [raised(read, "X", datatype, [1], 1), raised(elements_of, tensor)]
    tensor = WireTensor("X", "FP4", (1,), bytes(2))
    told += [raised(read, "X", "FP4", [1], 1), raised(elements_of, tensor)]

    assert [
        f"receiving {datatype} data via JSON is not supported. Please use the binary "
        "data format for input X",
        f"sending {datatype} data via JSON is not supported. Please use the binary "
        "data format for output",
        "invalid datatype for input X",
        "Invalid data type for output tensor",
    ] == told


def raised(function: Callable[..., object], *arguments: object) -> str:
    """Return the text of the error that a function raises."""
    with pytest.raises(RequestError) as caught:
        function(*arguments)
    return caught.value.message


@pytest.mark.parametrize(
    ("number", "read_as"),
    [
        (2**64 - 1, 2.0**64),
        (-(2**63), -(2.0**63)),
        (1161855166070246900315, 1.1618551660702467e21),
        (13748046968400968847630499, 1.374804696840097e25),
        (-57660479433110918814, -5.766047943311091e19),
        (-16163778456032302741734361, -1.6163778456032298e25),
    ],
)
def test_an_integer_beyond_64_bits_is_rounded_at_each_digit(
    number: int, read_as: float
) -> None:
    """Python rounds once, and finds another double."""
    [found] = np.frombuffer(read("X", "FP64", [number], 1), np.float64)

    assert read_as == found


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_lists_are_nested_up_to_the_limit_of_a_release(depth: int) -> None:
    """The outer list counts as the first; an element in place of a list does, too."""
    nested: Json = 1
    for _ in range(depth - 1):
        nested = [nested]

    assert b"\x01" == read("X", "INT8", nested, 1, depth)
    with pytest.raises(RequestError) as caught:
        read("X", "INT8", [nested], 1, depth)
    assert (
        "Unable to parse 'data': JSON nesting depth exceeds maximum allowed limit "
        f"({depth})"
    ) == caught.value.message


@given(st.binary(), st.sampled_from(["gzip", "deflate"]))
def test_a_compressed_body_is_decompressed(body: bytes, encoding: str) -> None:
    """The header may name either compression."""
    headers = {"Content-Encoding": encoding}
    sent = compressed(body, encoding)

    assert body == decompressed(sent, headers)[0]


@pytest.mark.parametrize("text", ["=", "A", "\u00e9", "A=\n"], ids=repr)
def test_base64_needs_a_few_times_its_size(text: str) -> None:
    """The characters do not matter."""
    text *= 2_000_000 // len(text)
    size = len(text.encode())

    tracemalloc.start()
    try:
        decode_base64(text)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()

    assert peak <= 4 * size


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("YWJj", b"abc"),
        ("YW Jj\n", b"abc"),
        ("YWI", b"ab"),
        ("YWJjZ", b"abc"),
        ("é", b""),
    ],
)
def test_base64_is_read_leniently(text: str, found: bytes) -> None:
    """Characters outside the alphabet are ignored, as by libb64."""
    assert found == decode_base64(text)
