"""Every runtime keeps the contract; those with a device keep a longer one."""

import numpy as np
import pytest
from devices import CUPY, WHY_NOT

from blsnb.runtimes import simulated
from blsnb.runtimes.host import NumpyRuntime
from blsnb.runtimes.runtime import DeviceError
from blsnb.runtimes.simulated_runtime import SimulatedRuntime
from blsnb.tensors import dlpack

from .contract import FLOATS, RuntimeContract


class TestNumpy(RuntimeContract):
    """NumPy, everywhere."""

    runtime = NumpyRuntime()

    def host(self, array):
        return array

    def test_a_device_is_refused(self):
        """The text is that of Triton without a driver."""
        with pytest.raises(
            DeviceError, match=r"Failed to get current CUDA device id\.$"
        ):
            self.runtime.from_dlpack(simulated.asarray(FLOATS))

    def test_a_bare_capsule_of_a_device_is_refused(self):
        """The text is that of Triton built without GPU support."""
        capsule = simulated.asarray(FLOATS).__dlpack__()
        with pytest.raises(dlpack.DLPackError, match="when GPU is not available"):
            self.runtime.from_dlpack(capsule)


class DeviceContract(RuntimeContract):
    """What holds besides where there is a device."""

    device = "gpu:0"

    def test_memory_in_use_grows_and_shrinks(self):
        """A measurement has the maximum."""
        size = 1 << 20
        before = self.runtime.memory_use(0).in_use
        with self.runtime.measure(0) as measured:
            memory = self.to_device(np.zeros(size, np.uint8))
            during = self.runtime.memory_use(0).in_use
            del memory
        after = self.runtime.memory_use(0).in_use

        assert (before + size, before) == (during, after)
        assert before + size <= measured.use.peak_bytes
        assert before == measured.use.in_use_bytes

    def test_a_device_that_is_not_there_is_refused(self):
        """It raises an error instead of crashing."""
        with pytest.raises(DeviceError):
            self.runtime.to_device(b"\0" * 4, np.dtype(np.float32), (1,), 99)

    def test_a_bare_capsule_of_the_host_is_refused(self):
        """The text has DLPack's number of the host."""
        with pytest.raises(
            DeviceError, match=r"^DLDevice type 1 is not that of a device$"
        ):
            self.runtime.from_dlpack(FLOATS.__dlpack__())

    def test_it_is_no_numpy_array(self):
        """What takes it for one is found at once."""
        with pytest.raises(
            TypeError,
            match=r"Implicit conversion to a NumPy array is not allowed\. "
            r"Please use `\.get\(\)` to construct a NumPy array "
            r"explicitly\.$",
        ):
            np.asarray(self.to_device(FLOATS).array)

    def test_a_consumer_never_reads_before_the_producer_is_done(self):
        """DLPack hands over complete data, without an explicit wait."""
        memory = self.to_device(np.zeros((256, 256), np.float32))
        made = memory.array
        for _ in range(20):
            made = made + 1
        taken = self.runtime.from_dlpack(made)

        assert {20.0} == set(self.host(taken.memory.array).ravel().tolist())

    def test_a_frozen_copy_is_complete(self):
        """Work that is pending when it is made is done in it."""
        made = self.to_device(FLOATS).array * 2
        copy = self.runtime.from_dlpack(made).memory.copied()

        # The bits of NaN are the device's own.
        np.testing.assert_array_equal(FLOATS * 2, self.host(copy.array))
        made[...] = 0
        np.testing.assert_array_equal(FLOATS * 2, self.values(copy, np.float32))


class TestSimulated(DeviceContract):
    """The device that is simulated, everywhere."""

    runtime = SimulatedRuntime()

    def host(self, array):
        return array.raw()


if CUPY is not None:

    @pytest.mark.gpu
    class TestCupy(DeviceContract):
        """CuPy, on a device."""

        runtime = CUPY

        def host(self, array):
            return array.get()

        def test_work_on_a_stream_of_the_models_own_is_awaited(self):
            """Also by a reader on another stream that does not wait for it."""
            import cupy

            with cupy.cuda.Stream(non_blocking=True):
                made = cupy.zeros((2000, 2000), cupy.float32)
                for _ in range(20):
                    made = made @ made
                taken = self.runtime.from_dlpack(made + 1)
            copy = taken.memory.copied()

            assert np.ones((2000, 2000), np.float32).tobytes() == copy.host().tobytes()


@pytest.mark.gpu
@pytest.mark.skipif(CUPY is None, reason=WHY_NOT)
def test_cupy_keeps_the_contract_here():
    """Without CuPy one line reports that the class above is skipped."""
    assert "CUDA" in CUPY.describe()
