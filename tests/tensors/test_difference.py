"""Specification of the difference between two tensors."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import axes, dtypes, tensors

from blsnb.tensors.difference import ValueChange, difference
from blsnb.tensors.dtypes import BF16, BY_DATATYPE
from blsnb.tensors.ref import TensorRef, freeze

NAN, INF = float("nan"), float("inf")
# Hypothesis rejects most of what it draws for floats of 16 bits.
HALVES = st.sampled_from([0.0, -0.0, 1.0, INF, -INF, NAN]) | st.integers(0, 0xFFFF).map(
    lambda bits: np.uint16(bits).view(np.float16).item()
)


def tensor(values, datatype="FP32", name="Y"):
    row = BY_DATATYPE[datatype]
    return freeze(name, np.asarray(values, row.dtype), row)


@given(st.data())
def test_a_tensor_equals_itself(data):
    """Every type, with NaNs, equals a copy."""
    dtype = data.draw(dtypes())
    array = data.draw(tensors(dtype, data.draw(axes())))
    ref = freeze("X", array, dtype)
    copy = TensorRef("X", dtype, ref.shape, bytes(bytearray(ref.data)))

    assert ValueChange.SAME is difference(ref, copy).change
    assert not difference(ref, copy)


@given(st.data())
def test_the_largest_deviation_is_that_of_the_elements(data):
    """It equals that of a plain loop."""
    kind = data.draw(st.sampled_from(["FP16", "FP32", "FP64"]))
    pairs = data.draw(st.lists(st.tuples(HALVES, HALVES), min_size=1))
    a, b = (tensor([pair[side] for pair in pairs], kind) for side in (0, 1))
    found = difference(a, b)

    unequal = [(x, y) for x, y in pairs if x != y and not (x != x and y != y)]
    amounts = [abs(x - y) for x, y in unequal if x == x and y == y]
    assert len(unequal) == found.differing
    assert len(unequal) - len(amounts) == found.nan
    assert max(amounts, default=None) == found.largest
    if found.differing:
        [at] = found.index
        assert [] == amounts or abs(pairs[at][0] - pairs[at][1]) == found.largest
        assert pairs[at] in [pair for pair in pairs if pair[0] != pair[1]]


@pytest.mark.parametrize("datatype", ["INT8", "INT64", "UINT64", "UINT8", "INT32"])
def test_integers_differ_exactly_up_to_their_whole_range(datatype):
    """The distance of the ends does not overflow."""
    bounds = np.iinfo(BY_DATATYPE[datatype].dtype)
    ends = [int(bounds.min), 0, int(bounds.max)]
    found = difference(tensor(ends, datatype), tensor(ends[::-1], datatype))

    assert int(bounds.max) - int(bounds.min) == found.largest
    assert (0,) == found.index
    assert 2 == found.differing


@pytest.mark.parametrize(
    ("this", "kind", "before", "other", "largest"),
    [
        (2**63 - 1, "INT64", 2**63, "UINT64", 1),
        (-(2**63), "INT64", 2**64 - 1, "UINT64", 2**64 + 2**63 - 1),
        (2**53 + 1, "INT64", 2**53, "FP64", 1.0),
        (2**53 + 1, "INT64", 1, "INT32", 2**53),
        (2**53, "INT64", True, "BOOL", 2**53 - 1),
        (-(2**53) + 1, "INT64", 2**53, "UINT64", 2**54 - 1),
        (2**63 - 1, "INT64", INF, "FP32", INF),
    ],
)
def test_other_datatypes_are_compared_exactly(this, kind, before, other, largest):
    """Not by way of float64, which cannot represent every 64-bit integer."""
    found = difference(tensor([this], kind), tensor([before], other))

    assert (1, largest, (0,)) == (found.differing, found.largest, found.index)
    assert type(largest) is type(found.largest)


@given(st.data())
def test_any_two_numbers_are_compared_as_python_does(data):
    """Python's integers and fractions are exact for all datatypes."""
    kinds = st.sampled_from(["INT64", "UINT64", "INT8", "UINT32", "FP32", "FP64"])
    refs, values = [], []
    for kind in (data.draw(kinds), data.draw(kinds)):
        size = 3 * BY_DATATYPE[kind].byte_size
        bits = data.draw(st.binary(min_size=size, max_size=size))
        refs.append(TensorRef("Y", BY_DATATYPE[kind], (3,), bits))
        values.append(refs[-1].view().tolist())
    found = difference(*refs)

    pairs = [(a, b) for a, b in zip(*values, strict=True) if a == a or b == b]
    unequal = [(a, b) for a, b in pairs if a != b]
    apart = [abs(Fraction(a) - Fraction(b)) for a, b in unequal if abs(a - b) < INF]
    assert len(unequal) == found.differing
    if len(apart) == len(unequal) > 0:
        assert float(max(apart)) == pytest.approx(float(found.largest), rel=1e-15)


def test_values_are_shown_with_enough_digits_to_differ():
    """The shown values differ."""
    one = difference(tensor([1.0000001]), tensor([1.0]))
    other = difference(tensor([1234567.891], "FP64"), tensor([1234567.892], "FP64"))

    assert one.words.endswith("at [0]: 1.0000001, was 1")
    assert other.words.endswith("at [0]: 1234567.891, was 1234567.892")


def test_long_texts_are_shown_from_where_they_differ():
    """Their beginnings are the same."""
    ends = [("ä" * 50 + end).encode() for end in ("one", "two")]
    found = difference(*(tensor([end], "BYTES") for end in ends))

    assert found.words.endswith(f"…'{'ä' * 6}one', was …'{'ä' * 6}two'")


def test_the_index_is_that_of_the_shape():
    """It is not the position in memory, even after the first block."""
    before = np.zeros((3, 400, 100), np.float32)
    after = before.copy()
    after[1, 0, 5], after[2, 399, 99] = 0.25, -2.5
    found = difference(tensor(after), tensor(before))

    assert (2, 399, 99) == found.index
    assert (
        "2 of 120,000 differ; most by 2.5 at [2, 399, 99]: -2.5, was 0" == found.words
    )


def test_nan_beside_a_number_differs_by_no_amount():
    """It is counted, and the largest deviation is one of numbers."""
    found = difference(tensor([NAN, 1, NAN, 2]), tensor([NAN, NAN, 0, 5]))

    assert (3, 2, 3.0, (3,)) == (
        found.differing,
        found.nan,
        found.largest,
        found.index,
    )
    assert "3 of 4 differ, 2 of them NaN on one side; most by 3" in found.words


def test_a_difference_in_nan_alone_has_an_index():
    """It is the first element that differs."""
    found = difference(tensor([0, NAN]), tensor([0, 1]))

    assert (None, (1,)) == (found.largest, found.index)
    assert found.words.endswith("first at [1]: nan, was 1")


def test_the_first_of_many_differences_in_nan_has_the_index():
    """More elements than are compared at once."""
    values = np.zeros(1 << 17, np.float32)
    values[[0, -1]] = NAN

    assert (0,) == difference(tensor(values), tensor(np.zeros(1 << 17))).index


def test_infinities_differ_from_numbers_and_from_one_another():
    """They equal themselves."""
    found = difference(tensor([INF, INF, -INF]), tensor([INF, -INF, -INF]))

    assert (1, INF, (1,)) == (found.differing, found.largest, found.index)


def test_zeros_of_two_signs_are_the_same():
    """Although their bits differ."""
    assert ValueChange.SAME is difference(tensor([0.0]), tensor([-0.0])).change


def test_texts_differ_at_their_first_element():
    """The texts are cut to a line."""
    before = tensor([[b"a", b"b"], [b"c", b"d"]], "BYTES")
    after = tensor([[b"a", b"b"], [b"x" * 90, b"\xff"]], "BYTES")
    found = difference(after, before)

    assert (2, (1, 0), None) == (found.differing, found.index, found.largest)
    assert (f"2 of 4 differ; first at [1, 0]: '{'x' * 40}'…, was 'c'") == found.words


def test_truth_values_differ():
    """One is true, the other false."""
    found = difference(tensor([True, True], "BOOL"), tensor([True, False], "BOOL"))

    assert (1, 1, (1,)) == (found.differing, found.largest, found.index)
    assert found.words.endswith("True, was False")


def test_tensors_of_different_shapes_are_not_compared():
    """The difference names both shapes."""
    found = difference(tensor([[1, 2]]), tensor([1, 2]))

    assert (ValueChange.SHAPE, "[1, 2], was [2]") == (found.change, found.words)


def test_values_of_different_datatypes_are_compared():
    """For example those of a model that was cast to half precision."""
    found = difference(tensor([1, 0.1], "FP16"), tensor([1, 0.1]))

    assert ValueChange.DATATYPE is found.change
    assert found.words.startswith("FP16, was FP32; 1 of 2 differ; most by 2.4")
    whole = difference(tensor([1, 2], "INT32"), tensor([1, 2]))
    assert "INT32, was FP32; all values equal" == whole.words
    texts = difference(tensor([b"1"], "BYTES"), tensor([1]))
    assert "BYTES, was FP32; values not compared" == texts.words
    both = difference(tensor([[1]], "INT32"), tensor([1]))
    assert "INT32, was FP32; [1, 1], was [1]" == both.words


def test_bf16_is_compared_as_numbers():
    """NumPy has no such type."""
    one, two = (
        TensorRef("Y", BF16, (1,), np.array([bits], np.uint16).tobytes())
        for bits in (0x3F80, 0x4000)
    )

    assert 1.0 == difference(two, one).largest


def test_a_new_or_missing_tensor_is_a_difference():
    """It is named with its type and shape."""
    assert "new: FP32[2]" == difference(tensor([1, 2]), None).words
    assert "gone: it was FP32[2]" == difference(None, tensor([1, 2])).words
    assert not difference(None, None)


def test_an_evicted_value_is_not_compared():
    """It is neither the same nor different."""
    found = difference(tensor([1]), tensor([2]).without_data())

    assert (ValueChange.UNKNOWN, False) == (found.change, bool(found))
    assert "not compared" in found.words
    cast = difference(tensor([1], "FP16"), tensor([2]).without_data())
    assert "FP16, was FP32; values not compared" == cast.words


def test_empty_tensors_are_the_same():
    """There is nothing to differ."""
    assert not difference(tensor(np.zeros((0, 3))), tensor(np.zeros((0, 3))))
    cast = difference(tensor(np.zeros((0, 3))), tensor(np.zeros((0, 3)), "INT32"))
    assert "FP32, was INT32; no elements" == cast.words
    assert "<TensorDifference Y: the same>" == repr(difference(tensor([]), tensor([])))
