"""Specification of the simulated device: what it finds that NumPy forgives."""

import numpy as np
import pytest

from blsnb.runtimes import simulated
from blsnb.runtimes.simulated import (
    DEVICES,
    Device,
    asarray,
    asnumpy,
    empty,
    from_dlpack,
)
from blsnb.runtimes.simulated_runtime import SimulatedRuntime
from blsnb.tensors import dlpack

ONES = np.ones(4, np.float32)


def test_work_is_done_when_something_waits():
    """Until then the memory contains garbage, as on a GPU."""
    made = asarray(ONES) + 1
    rubbish = made.raw().tobytes()

    assert bytes([simulated.RUBBISH]) * 16 == rubbish
    assert [2.0] * 4 == made.get().tolist()


def test_a_consumer_that_does_not_wait_is_found():
    """It reads memory that is not computed yet."""
    made = asarray(ONES) + 1
    hasty = simulated.adopted(made.__dlpack__(stream=-1), 0)

    assert [2.0] * 4 != hasty.raw().tolist()
    assert [2.0] * 4 == from_dlpack(made).raw().tolist()


def test_copies_are_counted():
    """Number and bytes, by direction."""
    counts = DEVICES[0].counts
    before = dict(vars(counts))
    array = asarray(ONES)
    array.copy()
    array.get()
    asnumpy(array)

    assert {
        "to_device": 1,
        "to_device_bytes": 16,
        "to_host": 2,
        "to_host_bytes": 32,
        "within": 1,
    } == {name: count - before[name] for name, count in vars(counts).items()}


def test_numpy_does_not_read_it():
    """Conversion, operators and DLPack are refused."""
    array = asarray(ONES)
    with pytest.raises(
        TypeError,
        match=r"Implicit conversion to a NumPy array is not allowed\. "
        r"Please use `\.get\(\)` to construct a NumPy array "
        r"explicitly\.$",
    ):
        np.asarray(array)
    with pytest.raises(TypeError):
        ONES + array
    with pytest.raises((BufferError, RuntimeError)):
        np.from_dlpack(array)


def test_memory_is_freed_with_its_last_view():
    """A view or a capsule keeps it."""
    device = DEVICES[1]
    array = empty((1000,), np.uint8, device)
    view = array.reshape(10, 100)[2:]
    del array
    assert 1000 == device.in_use
    taken = from_dlpack(view)
    del view
    assert 1000 == device.in_use
    del taken
    assert 0 == device.in_use


def test_memory_of_the_host_is_refused():
    """It is on no simulated device."""
    with pytest.raises(BufferError):
        from_dlpack(ONES)


@pytest.mark.parametrize(("count", "words"), [(1, "1 device"), (2, "2 devices")])
def test_a_runtime_tells_that_its_devices_are_simulated(count, words):
    """With the version of the library that computes."""
    text = f"{words} simulated in the host's memory, with NumPy {np.__version__}"

    assert text == SimulatedRuntime(count).describe()
    assert f"<SimulatedRuntime: {text}>" == repr(SimulatedRuntime(count))


def test_values_are_written_in_the_order_of_submission():
    """After the work that was submitted before."""
    array = asarray(ONES)
    doubled = array * 2
    array[...] = asarray(ONES * 9)

    assert [2.0] * 4 == doubled.get().tolist()
    assert [9.0] * 4 == array.get().tolist()


def test_devices_are_distinct():
    """Arrays name their device, and a runtime may have several."""
    memory = SimulatedRuntime(2).to_device(ONES.tobytes(), ONES.dtype, (4,), 1)

    assert "gpu:1" == memory.device
    assert (dlpack.CUDA, 1) == memory.array.__dlpack_device__()


def test_the_repr_of_an_array_names_type_shape_and_device():
    """Not its elements, which may not be computed."""
    assert "<DeviceArray float32[4] on gpu:0>" == repr(asarray(ONES))


def test_it_is_shown_with_its_device():
    """Type, shape and device, and no elements."""
    assert "<DeviceArray float32[4] on gpu:0>" == repr(asarray(ONES))
    assert "<DeviceArray int8[2, 3] on gpu:1>" == repr(empty((2, 3), "i1", DEVICES[1]))


def test_an_error_names_the_memory_of_the_host():
    """As an operand, and by DLPack."""
    array = asarray(ONES)
    with pytest.raises(TypeError, match=r"^Unsupported type <class 'numpy.ndarray'>$"):
        array + ONES
    with pytest.raises(BufferError) as caught:
        from_dlpack(ONES)
    assert f"no simulated device has the memory of {ONES!r}" == str(caught.value)


def test_the_peak_is_that_of_all_memory_in_use():
    """It stays when memory is freed."""
    device = Device(5)
    first = empty((10,), "u1", device)
    second = empty((20,), "u1", device)
    assert (30, 30) == (device.in_use, device.peak)
    del first
    assert (20, 30) == (device.in_use, device.peak)
    del second
    third = empty((3,), "<u2", device)
    assert (6, 30) == (device.in_use, device.peak)
    assert [0xCBCB] * 3 == third.get().tolist()
