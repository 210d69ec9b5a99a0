"""What any runtime must do: a class of tests to be inherited with a runtime."""

import dataclasses
import time

import numpy as np
import pytest

from blsnb.tensors import dlpack
from blsnb.tensors.device_ref import DeviceRef
from blsnb.tensors.dtypes import BF16, BY_NUMPY, BYTES, DTYPES
from blsnb.tensors.ref import freeze
from blsnb.tensors.summary import TensorSummary

NUMERIC = [row.dtype for row in DTYPES if row not in (BYTES, BF16)]
SHAPES = [(), (1,), (7,), (0,), (2, 3), (2, 0, 4), (3, 1, 2, 5)]


def made_up(dtype, shape):
    """Make an array of all kinds of values: NaN, infinities and extremes, too."""
    size = int(np.prod(shape)) * dtype.itemsize
    bits = np.random.default_rng(size).integers(0, 256, size, np.uint8)
    if dtype.kind == "b":
        bits &= 1
    return bits.view(dtype).reshape(shape)


def nearly(stats):
    """Return statistics whose sums may differ in the last digits."""
    known = dataclasses.asdict(stats)
    for name in ("mean", "std"):
        if known[name] is not None:
            known[name] = pytest.approx(known[name], rel=1e-9)
    return known


every_dtype = pytest.mark.parametrize("dtype", NUMERIC, ids=str)


FLOATS = np.array([[1.5, -2, np.nan], [np.inf, 0, 3]], np.float32)


class RuntimeContract:
    """Tests of any runtime; a subclass defines ``runtime``."""

    runtime = None
    device = "cpu"
    """Where ``to_device`` puts elements."""

    def to_device(self, array):
        """Give a copy of an array's elements to the runtime."""
        return self.runtime.to_device(array.tobytes(), array.dtype, array.shape)

    def values(self, memory, dtype):
        return np.frombuffer(memory.host(), dtype).reshape(memory.shape)

    def test_its_text_names_the_library(self):
        """As `server.runtime` shows it."""
        name = type(self.runtime).__name__

        assert f"<{name}: {self.runtime.describe()}>" == repr(self.runtime)

    @every_dtype
    def test_elements_come_back_bit_by_bit(self, dtype):
        """Every datatype and shape: also none at all, and no axis at all."""
        for array in (made_up(dtype, shape) for shape in SHAPES):
            memory = self.to_device(array)

            assert (array.shape, array.nbytes) == (memory.shape, memory.nbytes)
            assert array.tobytes() == memory.host().tobytes()

    def test_memory_has_its_device(self):
        """It is the host or a numbered device."""
        assert self.device == self.to_device(FLOATS).device

    def test_what_comes_to_the_host_cannot_be_written(self):
        """It is the frozen value of a tensor."""
        assert self.to_device(FLOATS).host().readonly

    def test_a_copy_shares_no_memory(self):
        """What is done to one is not seen in the other."""
        memory = self.to_device(FLOATS)
        copy = memory.copied()
        memory.array[...] = 7

        assert FLOATS.tobytes() == copy.host().tobytes()
        assert FLOATS.tobytes() != memory.host().tobytes()
        assert memory.device == copy.device

    def test_another_shape_is_the_same_memory(self):
        """Nothing is copied for a name or a shape."""
        memory = self.to_device(FLOATS)
        flat = memory.shaped((6,))
        memory.array[...] = 7

        assert (6,) == flat.shape
        assert [7.0] * 6 == self.values(flat, np.float32).tolist()

    @every_dtype
    def test_memory_goes_out_and_in_by_dlpack(self, dtype):
        """Type, shape and bits stay, for every datatype."""
        for array in (made_up(dtype, shape) for shape in SHAPES):
            memory, found = self.runtime.from_dlpack(self.to_device(array).capsule())

            assert (BY_NUMPY[dtype], array.shape) == (found, memory.shape)
            assert array.tobytes() == memory.host().tobytes()

    def test_what_is_taken_is_the_producers_memory(self):
        """No copy is made: what the producer writes later is there."""
        memory = self.to_device(FLOATS)
        taken = self.runtime.from_dlpack(memory.array)
        memory.array[...] = 7
        self.runtime.synchronise()

        assert [7.0] * 6 == self.values(taken.memory, np.float32).ravel().tolist()

    def test_bf16_goes_through(self):
        """No library here knows the type; its bits are those of uint16."""
        bits = self.to_device(np.array([0x3F80, 0x4000], np.uint16))
        capsule = bits.capsule()
        dlpack.labelled(capsule, BF16)
        taken = self.runtime.from_dlpack(capsule)

        assert BF16 is taken.dtype
        assert bits.host().tobytes() == taken.memory.host().tobytes()

    def test_elements_out_of_order_are_refused(self):
        """The text is Triton's: a backend reads memory from its beginning."""
        with pytest.raises(dlpack.DLPackError, match="not contiguous"):
            self.runtime.from_dlpack(self.to_device(np.zeros((4, 4))).array[:, :2])

    def test_a_function_is_computed_where_the_elements_are(self):
        """It receives library and array; numbers are returned unchanged."""
        total = self.to_device(FLOATS).compute(lambda xp, a: float(xp.nansum(a[:, :2])))
        part = self.to_device(FLOATS).compute(lambda xp, array: array[0, :2])

        assert np.inf == total
        assert isinstance(part, np.ndarray)
        assert [1.5, -2.0] == part.tolist()

    @every_dtype
    def test_summaries_are_those_of_the_host(self, dtype):
        """Counts, extremes and histogram are equal; mean and deviation nearly."""
        for array in (made_up(dtype, shape) for shape in SHAPES):
            row = BY_NUMPY[dtype]
            there = TensorSummary(
                DeviceRef("X", row, array.shape, self.to_device(array))
            )
            here = TensorSummary(freeze("X", array, row))

            assert nearly(here.stats) == dataclasses.asdict(there.stats)
            assert here.histogram == there.histogram

    def test_bf16_is_summarised_as_the_numbers_that_it_is(self):
        """Not as the integers of its bits."""
        bits = self.to_device(np.array([0x3F80, 0x4000], np.uint16))
        stats = TensorSummary(DeviceRef("X", BF16, (2,), bits)).stats

        assert (1.0, 2.0, 1.5) == (stats.min, stats.max, stats.mean)

    def test_the_clock_has_seen_all_work_when_a_measurement_ends(self):
        """No work continues afterwards."""
        memory = self.to_device(np.ones((512, 512), np.float32))
        before = time.perf_counter_ns()
        with self.runtime.measure(0) as measured:
            made = memory.array * 2 + 1
        elapsed = time.perf_counter_ns() - before

        assert self.device == measured.use.device
        assert 0 < measured.use.compute_ns <= elapsed
        assert (3.0 * np.ones((512, 512))).tolist() == self.host(made).tolist()

    def host(self, array):
        """Return what an array of the runtime holds, without waiting for it."""
        raise NotImplementedError

    def test_a_failure_in_a_measurement_ends_it(self):
        """The next one begins afresh."""
        with pytest.raises(ZeroDivisionError), self.runtime.measure(0) as failed:
            _ = 1 / 0
        with self.runtime.measure(0) as measured:
            pass

        assert failed.use is not None
        assert measured.use is not None

    def test_measurements_may_lie_in_one_another(self):
        """A model calls another one."""
        memory = self.to_device(FLOATS)
        with self.runtime.measure(0) as outer:
            with self.runtime.measure(0) as inner:
                made = memory.array * 2
            del made
        assert inner.use.compute_ns <= outer.use.compute_ns
        assert inner.use.peak_bytes <= outer.use.peak_bytes

    def test_it_says_what_it_is(self):
        """A name to choose it by, and words with a version."""
        assert self.runtime.name in ("numpy", "simulated", "cupy")
        assert any(map(str.isdigit, self.runtime.describe()))
