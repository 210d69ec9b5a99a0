"""Specification of a tensor's statistics and histogram."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from blsnb.tensors.dtypes import BF16, BY_NUMPY, BYTES
from blsnb.tensors.ref import TensorRef, freeze
from blsnb.tensors.summary import TensorSummary

shapes = arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6)
floats = st.floats(-1e6, 1e6, width=32) | st.sampled_from([math.nan, math.inf, 0.0])


def summary(values, dtype="float32"):
    array = np.asarray(values, dtype)
    return TensorSummary(freeze("X", array, BY_NUMPY[array.dtype]))


@given(arrays.arrays(np.float32, shapes, elements=floats))
def test_statistics_are_those_of_numpy_over_the_finite_values(array):
    """Counts are exact; mean and standard deviation agree to float64 precision."""
    stats = summary(array).stats
    finite = array[np.isfinite(array)].astype(np.float64)

    counts = (array.size, int(np.isnan(array).sum()), int(np.isinf(array).sum()))
    assert counts == (stats.count, stats.nan, stats.inf)
    assert int((finite == 0).sum()) == stats.zeros
    if finite.size:
        assert (finite.min(), finite.max()) == (stats.min, stats.max)
        assert finite.mean() == pytest.approx(stats.mean, abs=1e-6)
        assert finite.std() == pytest.approx(stats.std, abs=1e-6)
    else:
        assert {None} == {stats.min, stats.max, stats.mean, stats.std}


@given(arrays.arrays(np.float32, shapes, elements=floats))
def test_every_finite_value_is_in_one_bin(array):
    """The histogram counts each finite value once, from minimum to maximum."""
    found = summary(array)
    finite = int(np.isfinite(array).sum())

    if finite:
        assert (48, finite) == (
            len(found.histogram.counts),
            sum(found.histogram.counts),
        )
    else:
        assert found.histogram is None


def test_a_large_tensor_is_summed_block_by_block_without_losing_digits():
    """A small spread on a large offset, across the border of a block."""
    array = 1e6 + np.arange(200_000) % 2
    found = summary(array, "float64")

    assert 1e6 + 0.5 == pytest.approx(found.stats.mean, rel=1e-12)
    assert found.stats.std == pytest.approx(0.5, rel=1e-9)
    assert (100_000, 100_000) == (
        found.histogram.counts[0],
        found.histogram.counts[-1],
    )


def test_equal_values_fall_into_one_bin():
    """A histogram without width is one bar."""
    histogram = summary([7, 7, 7], "int64").histogram

    assert (7, 7, 3) == (histogram.low, histogram.high, histogram.counts[0])


def test_the_widest_range_of_doubles_has_a_histogram():
    """Although no double can represent their distance."""
    largest = np.finfo(np.float64).max
    counts = summary([-largest, 0, largest], "float64").histogram.counts

    assert (1, 1, 1) == (counts[0], counts[24], counts[-1])


def test_a_sum_beyond_floats_is_none():
    """JSON has no infinity."""
    stats = summary([np.finfo(np.float64).max, -np.finfo(np.float64).max], "float64")

    assert stats.stats.std is None


def test_bool_counts_as_zero_and_one():
    """The mean of a mask is the fraction that it selects."""
    stats = summary([True, False, True, True], "bool").stats

    assert (0, 1, 0.75, 1) == (stats.min, stats.max, stats.mean, stats.zeros)


def test_the_largest_integers_keep_their_value():
    """Minimum and maximum of integers are integers, not their nearest doubles."""
    assert 2**64 - 1 == summary([0, 2**64 - 1], "uint64").stats.max


def test_bf16_is_summarised_as_the_numbers_that_it_stands_for():
    """BF16 has statistics although NumPy has no such type."""
    ref = TensorRef("X", BF16, (2,), np.array([0x3F80, 0x4040], "<u2").tobytes())

    assert (1.0, 3.0) == (TensorSummary(ref).stats.min, TensorSummary(ref).stats.max)


@pytest.mark.parametrize(
    "ref",
    [
        TensorRef("X", BYTES, (1,), b"\x00\x00\x00\x00"),
        TensorRef("X", BF16, (4,), None),
    ],
    ids=["BYTES", "evicted"],
)
def test_strings_and_evicted_values_have_no_statistics(ref):
    """They have no histogram, either."""
    assert (None, None) == (TensorSummary(ref).stats, TensorSummary(ref).histogram)


def test_statistics_are_computed_on_first_use():
    """The summary of an unreadable tensor can be constructed."""
    summary_of_nothing = TensorSummary(TensorRef("X", BF16, (4,), b""))

    assert "<TensorSummary of <TensorRef X BF16[4]>>" == repr(summary_of_nothing)
