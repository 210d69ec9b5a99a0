"""How far values may be from those of a baseline."""

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


def test_what_is_the_same_is_within_every_tolerance():
    """Also within none at all, and NaN and infinities are the same as themselves."""
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
def test_a_value_may_be_as_far_away_as_the_tolerance_says(this, tolerance, within):
    """That is, by ``atol`` and ``rtol`` of the baseline together."""
    assert within == (beyond([this], [1], **tolerance) is None)


def test_only_what_is_too_far_away_is_counted_and_shown():
    """The largest deviation may be within tolerance where the baseline is large."""
    found = beyond([110, 2, 3], [100, 1, 3.001], rtol=0.2)

    assert (1, 1.0, (1,)) == (found.differing, found.largest, found.index)
    assert "1 of 3 differ; most by 1 at [1]: 2, was 1" == found.words


@pytest.mark.parametrize(
    "pair", [(NAN, 1), (1, NAN), (INF, 1), (1, INF), (INF, -INF), (INF, NAN)]
)
def test_nothing_is_near_an_infinity_or_a_nan(pair):
    """However large the tolerance is."""
    found = beyond([pair[0]], [pair[1]], atol=1e30, rtol=1e30)

    assert 1 == found.differing
    assert int(NAN in pair) == found.nan


@pytest.mark.parametrize("datatype", ["INT64", "UINT64"])
def test_large_integers_are_compared_exactly(datatype):
    """A float64 would not tell them apart."""
    large = (1 << 62) + 1
    found = beyond([large, large], [large - 1, large - 2], datatype, atol=1)

    assert (1, 2, (1,)) == (found.differing, found.largest, found.index)
    assert isinstance(found.largest, int)


@pytest.mark.parametrize("datatype", ["FP16", "BF16", "FP64", "INT8", "UINT8"])
def test_numbers_of_every_type_may_be_near(datatype):
    """Small ones do not wrap."""
    assert beyond([100, 0], [99, 1], datatype, atol=1) is None
    assert 2 == beyond([100, 0], [98, 2], datatype, atol=1).differing


@pytest.mark.parametrize(
    ("datatype", "pair"), [("BOOL", (True, False)), ("BYTES", "ab")]
)
def test_a_text_and_a_truth_value_are_never_near(datatype, pair):
    """They differ or they do not."""
    assert 1 == beyond([pair[0]], [pair[1]], datatype, atol=10).differing


def test_another_shape_or_datatype_is_never_near():
    """Nor is an output that is new or gone."""
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
def test_a_tolerance_is_a_number_from_zero_on(name, wrong):
    """Any other would let everything pass, or nothing."""
    with pytest.raises(ValueError, match=f"{name} must be a finite number"):
        Tolerance(**{name: wrong})
