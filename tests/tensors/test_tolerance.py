"""Specification of tolerances."""

from __future__ import annotations

import math

import pytest

from blsnb.tensors.convert import to_ref
from blsnb.tensors.difference import TensorDifference, difference
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.tolerance import Tolerance

NAN, INF = math.nan, math.inf


def ref(values, datatype="FP32"):
    return to_ref("Y", values, BY_DATATYPE[datatype], 1)


def beyond(this, baseline, datatype="FP32", **tolerance) -> TensorDifference | None:
    found = difference(ref(this, datatype), ref(baseline, datatype))
    return Tolerance(**tolerance).beyond(found)


def test_equal_values_are_within_every_tolerance():
    """NaN and infinities equal themselves, even with tolerance zero."""
    assert beyond([1, NAN, INF], [1, NAN, INF]) is None
    assert beyond([1, NAN, INF], [1, NAN, INF], atol=1) is None


@pytest.mark.parametrize(
    ("this", "tolerance", "within"),
    [
        (1.25, {"atol": 0.25}, True),
        (1.25, {"atol": 0.2}, False),
        (-0.75, {"atol": 1.75}, True),
        (1.25, {"rtol": 0.25}, True),
        (1.25, {"rtol": 0.2}, False),
        (1.25, {"atol": 0.125, "rtol": 0.125}, True),
        (1.25, {}, False),
    ],
)
def test_a_deviation_up_to_the_tolerance_is_accepted(this, tolerance, within):
    """It is the sum of ``atol`` and ``rtol`` times the baseline."""
    assert within == (beyond([this], [1], **tolerance) is None)


def test_only_values_beyond_the_tolerance_are_counted():
    """The largest deviation may be within the tolerance of a large baseline."""
    found = beyond([110, 2, 3], [100, 1, 3.001], rtol=0.2)

    assert (1, 1.0, (1,)) == (found.differing, found.largest, found.index)
    assert "1 of 3 differ; most by 1 at [1]: 2, was 1" == found.words


@pytest.mark.parametrize(
    "pair", [(NAN, 1), (1, NAN), (INF, 1), (1, INF), (INF, -INF), (INF, NAN)]
)
def test_nothing_is_near_an_infinity_or_a_nan(pair):
    """The size of the tolerance does not matter."""
    found = beyond([pair[0]], [pair[1]], atol=1e30, rtol=1e30)

    assert 1 == found.differing
    assert int(NAN in pair) == found.nan


@pytest.mark.parametrize("datatype", ["INT64", "UINT64"])
def test_large_integers_are_compared_exactly(datatype):
    """A float64 cannot represent their difference."""
    large = (1 << 62) + 1
    found = beyond([large, large], [large - 1, large - 2], datatype, atol=1)

    assert (1, 2, (1,)) == (found.differing, found.largest, found.index)
    assert isinstance(found.largest, int)


@pytest.mark.parametrize("datatype", ["FP16", "BF16", "FP64", "INT8", "UINT8"])
def test_numbers_of_every_type_may_be_near(datatype):
    """Small integers do not wrap around."""
    assert beyond([100, 0], [99, 1], datatype, atol=1) is None
    assert 2 == beyond([100, 0], [98, 2], datatype, atol=1).differing


@pytest.mark.parametrize(
    ("datatype", "pair"), [("BOOL", (True, False)), ("BYTES", "ab")]
)
def test_a_text_and_a_truth_value_are_never_near(datatype, pair):
    """They must be equal."""
    assert 1 == beyond([pair[0]], [pair[1]], datatype, atol=10).differing


def test_another_shape_or_datatype_is_never_near():
    """New and missing outputs are not, either."""
    one, two = ref([1]), ref([1, 1])
    for this, baseline in [
        (one, two),
        (one, ref([1], "FP64")),
        (one, None),
        (None, one),
    ]:
        found = difference(this, baseline)
        assert found is Tolerance(atol=10).beyond(found)


@pytest.mark.parametrize("wrong", [-1, NAN, INF])
@pytest.mark.parametrize("name", ["atol", "rtol"])
def test_a_tolerance_is_a_finite_number_from_zero_on(name, wrong):
    """Another one would accept everything or nothing."""
    text = f"^{name}={wrong} is not valid; expected a finite number from 0$"
    with pytest.raises(ValueError, match=text):
        Tolerance(**{name: wrong})
