"""Specification of the conversion of infer()'s inputs."""

import functools
from datetime import date
from decimal import Decimal

import ml_dtypes
import numpy as np
import pytest

from blsnb.errors import InputError
from blsnb.tensors.convert import to_ref
from blsnb.tensors.dtypes import BY_DATATYPE

FP16, FP32 = BY_DATATYPE["FP16"], BY_DATATYPE["FP32"]
INT8, INT64, BOOL = BY_DATATYPE["INT8"], BY_DATATYPE["INT64"], BY_DATATYPE["BOOL"]
BF16, BYTES = BY_DATATYPE["BF16"], BY_DATATYPE["BYTES"]


def test_an_array_keeps_its_own_type():
    """Arrays are never cast; the server refuses a wrong type."""
    ref = to_ref("X", np.arange(3), FP32, 1)

    assert "INT64" == ref.dtype.datatype


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [
        ([1, 2], FP32, [1.0, 2.0]),
        ([1.0, -3.0], INT8, [1, -3]),
        (7, INT8, [7]),
        (0.1, FP32, [np.float32(0.1)]),
        ("text", BYTES, [b"text"]),
        (["a", b"\xff"], BYTES, [b"a", b"\xff"]),
    ],
)
def test_lists_numbers_and_strings_take_the_configured_type(value, dtype, expected):
    """A value without a type gets the model's; a scalar gets its axes."""
    assert expected == to_ref("X", value, dtype, 1).view().tolist()


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        ([1.7], INT8),
        ([300], INT8),
        ([np.int64(300)], INT8),
        ([np.uint64(2**63)], INT64),
        ([Decimal("1.5")], INT8),
        ([1e40], FP32),
        ([70_000], FP16),
        ([2**70], FP16),
        ([2], BOOL),
        (["False"], BOOL),
        ([date(2020, 1, 1)], BOOL),
        ("text", FP32),
        ([None], FP32),
        ([None], BOOL),
        (["a", None], BYTES),
        (["a\ud83d"], BYTES),
        (np.array(["a\ud83d"]), BYTES),
        (np.array(["a\ud83d"], object), BYTES),
    ],
)
def test_a_lossy_conversion_is_refused(value, dtype):
    """A value that the type cannot hold is an error that names both."""
    with pytest.raises(InputError, match=f"input 'X' is {dtype.datatype}"):
        to_ref("X", value, dtype, 1)


@pytest.mark.parametrize(
    ("dtype", "words"),
    [
        (FP32, "FP32, and list {} does not convert to it"),
        (BYTES, "BYTES, and list {} does not convert to it"),
        (None, "of unknown type, and list {} does not convert to a tensor"),
    ],
)
@pytest.mark.parametrize("value", [[[1, 2], [3]], [1, [2]], [np.ones(2), np.ones(1)]])
def test_a_ragged_list_is_refused(value, dtype, words):
    """NumPy would make strings of its rows, or have a text without the input."""
    with pytest.raises(InputError) as refused:
        to_ref("X", value, dtype, 2)

    reason = "its rows have different lengths"
    given = repr(str(value)[:60])
    assert f"input 'X' is {words.format(given)}: {reason}" == str(refused.value)


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        ({"a": 1}, "dict"),
        ([{"a": 1}], "dict"),
        ({"a", "b"}, "set"),
        ((each for each in "ab"), "generator"),
        ({"a": 1}.keys(), "dict_keys"),
        (print, "builtin_function_or_method"),
    ],
)
def test_what_is_no_text_is_not_sent_as_its_text(value, kind):
    """A client would not notice ``{'a': 1}`` in place of a string."""
    with pytest.raises(InputError) as refused:
        to_ref("X", value, BYTES, 1)

    assert str(refused.value).startswith("input 'X' is BYTES, and ")
    assert str(refused.value).endswith(f"convert to it: {kind} is not a string")


@pytest.mark.parametrize("value", [bytearray(b"ab"), [memoryview(b"ab")]])
def test_the_bytes_of_a_buffer_do_not_become_texts_of_numbers(value):
    """NumPy makes an array of numbers of it."""
    with pytest.raises(InputError, match=r"become texts: pass bytes$"):
        to_ref("X", value, BYTES, 1)


def test_strings_of_numpy_in_a_list_are_sent_like_those_in_an_array():
    """Without the ``b''`` of NumPy's text; numbers and dates are sent as texts."""
    value = [np.bytes_(b"a"), np.str_("b"), 3, date(2020, 1, 1)]

    expected = [b"a", b"b", b"3", b"2020-01-01"]
    assert expected == to_ref("X", value, BYTES, 1).view().tolist()


@pytest.mark.parametrize("dtype", [FP32, INT64, BYTES, None])
def test_a_list_with_too_many_levels_is_refused(dtype):
    """NumPy has at most 64 axes."""
    value = functools.reduce(lambda inner, _: [inner], range(70), 1)

    with pytest.raises(InputError, match=r"input 'X' is .* does not convert to "):
        to_ref("X", value, dtype, 1)


@pytest.mark.parametrize("dtype", [FP32, INT64, BOOL])
@pytest.mark.parametrize(
    "value",
    [
        np.datetime64("2020-01-01"),
        [np.timedelta64(5, "ns")],
        [np.complex64(1 + 2j)],
        [np.zeros(1, [("a", "f4")])[0]],
    ],
    ids=["datetime64", "timedelta64", "complex", "structure"],
)
def test_values_of_a_type_that_triton_lacks_are_not_converted(value, dtype):
    """NumPy would make a number of dates, and of parts of the others."""
    with pytest.raises(InputError, match="Triton has no type for NumPy's"):
        to_ref("X", value, dtype, 1)


@pytest.mark.parametrize(
    ("value", "dtype", "text"),
    [
        (None, FP32, " is None; leave it out, or give it a value"),
        (
            np.zeros(2, complex),
            None,
            ": Triton has no type for NumPy's complex128. Convert the array first, for "
            "example with array.astype(np.float32).",
        ),
        (
            [1.5],
            INT8,
            " is INT8, and list '[1.5]' does not convert to it: values would be lost",
        ),
        (
            (None,),
            BYTES,
            " is BYTES, and tuple '(None,)' does not convert to it: an element is None",
        ),
        (
            "a\ud800",
            BYTES,
            " is BYTES, and str 'a\\ud800' does not convert to it: '\\ud800' is half "
            "of a surrogate pair",
        ),
        (
            [1j],
            FP32,
            " is FP32, and list '[1j]' does not convert to it: Triton has no type for "
            "NumPy's complex128",
        ),
        (
            "7" * 61 + "x",
            FP32,
            f" is FP32, and str '{'7' * 60}' does not convert to it: could not convert "
            f"string to float: '{'7' * 61}x'",
        ),
    ],
    ids=["None", "array", "lossy", "no text", "surrogate", "complex", "long"],
)
def test_the_text_of_a_refused_value(value, dtype, text):
    """At most 60 characters of the value are in it."""
    with pytest.raises(InputError) as refused:
        to_ref("X", value, dtype, 1)

    assert f"input 'X'{text}" == str(refused.value)


def test_values_that_are_equal_in_the_configured_type_are_converted():
    """Also those that NumPy keeps as objects, and numbers as text."""
    assert [2] == to_ref("X", [Decimal(2)], INT8, 1).view().tolist()
    assert [3] == to_ref("X", ["3"], INT8, 1).view().tolist()
    assert [True, False] == to_ref("X", [1, 0.0], BOOL, 1).view().tolist()
    assert [np.inf, 2.5] == to_ref("X", [np.inf, "2.5"], FP16, 1).view().tolist()


@pytest.mark.parametrize("dtype", [FP32, INT64, BOOL, BF16, BYTES])
def test_an_element_that_is_none_is_named(dtype):
    """NumPy makes NaN, False or a text of it."""
    with pytest.raises(InputError, match=r"\[\[1, None\]\]' .*: an element is None$"):
        to_ref("X", [[1, None]], dtype, 2)


@pytest.mark.parametrize(
    "value",
    [
        lambda pandas: pandas.Series(["a", None]),
        lambda pandas: pandas.Series(["a", pandas.NA], dtype="string"),
        lambda pandas: pandas.Series([1, None], dtype="Int64"),
        lambda pandas: ["a", float("nan")],
        lambda pandas: [pandas.NaT],
    ],
    ids=["NaN", "NA", "number", "list", "NaT"],
)
def test_a_missing_value_is_not_sent_as_its_text(value):
    """Its text is "nan" or "<NA>"."""
    pandas = pytest.importorskip("pandas", reason="pandas is not installed")
    with pytest.raises(InputError, match=r"an element is missing$"):
        to_ref("X", value(pandas), BYTES, 1)


@pytest.mark.parametrize(
    ("value", "dtype", "expected"),
    [("a", BYTES, [b"a"]), (2, INT8, [2]), (["a", "b"], BYTES, [b"a", b"b"])],
)
def test_a_scalar_of_arrow_is_its_python_value(value, dtype, expected):
    """NumPy makes numbers of the buffer of a string."""
    arrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    scalar = arrow.scalar(value)

    assert expected == to_ref("X", scalar, dtype, 1).view().tolist()


def test_masked_elements_are_refused():
    """NumPy sends 1e20 in their place; an array without any is an array."""
    masked = np.ma.masked_array(np.float32([1, 2]), [False, True])
    with pytest.raises(InputError, match=r"^input 'X' has masked elements"):
        to_ref("X", masked, FP32, 1)

    assert [1.0] == to_ref("X", masked[:1], FP32, 1).view().tolist()


def test_none_is_refused():
    """The error suggests leaving the input out."""
    with pytest.raises(InputError, match=r"leave it out, or give it a value$"):
        to_ref("X", None, FP32, 1)


def test_a_type_that_triton_lacks_is_refused():
    """Complex numbers have no Triton type."""
    with pytest.raises(InputError, match="no type for NumPy's complex128"):
        to_ref("X", np.zeros(2, complex), None, 1)


@pytest.mark.parametrize(
    "value",
    [
        [1.5, -2.0],
        np.array([1.5, -2.0], np.float32),
        np.array([1.5, -2.0], ml_dtypes.bfloat16),
    ],
    ids=["list", "float32", "bfloat16"],
)
def test_bf16_comes_from_lists_float32_and_ml_dtypes(value):
    """The upper halves of float32 are used, as by tritonclient."""
    ref = to_ref("X", value, BF16, 1)

    assert "BF16" == ref.dtype.datatype
    assert [1.5, -2.0] == ref.view().tolist()
    assert 4 == ref.byte_size


def test_unicode_arrays_are_strings():
    """NumPy's fixed-width strings are sent as BYTES."""
    assert [b"ab", b"c"] == to_ref("X", np.array(["ab", "c"]), BYTES, 1).view().tolist()
