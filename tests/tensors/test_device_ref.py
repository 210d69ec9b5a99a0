"""Specification of frozen tensors on a device."""

import gc

import numpy as np
import pytest

from blsnb.errors import TraceError
from blsnb.runtimes.simulated import DEVICES
from blsnb.runtimes.simulated_runtime import SimulatedRuntime
from blsnb.tensors import preview
from blsnb.tensors.device_ref import DeviceRef, on_host
from blsnb.tensors.difference import ValueChange, difference
from blsnb.tensors.dtypes import BF16, BY_NUMPY
from blsnb.tensors.memory import device_name, device_number
from blsnb.tensors.ref import TensorRef, freeze
from blsnb.tensors.summary import TensorSummary

COUNTS = DEVICES[0].counts


def on_device(array, name="X", dtype=None):
    """Freeze an array on a device."""
    memory = SimulatedRuntime().to_device(array.tobytes(), array.dtype, array.shape)
    return DeviceRef(name, dtype or BY_NUMPY[array.dtype], array.shape, memory)


def test_a_description_needs_no_copy_to_the_host():
    """Name, type, shape, size and device are known without the value."""
    before = COUNTS.to_host
    ref = on_device(np.zeros((2, 3), np.float32))

    assert ("X", (2, 3), 24, "gpu:0") == (
        ref.name,
        ref.shape,
        ref.byte_size,
        ref.device,
    )
    assert not ref.evicted
    assert "<TensorRef X FP32[2, 3]>" == repr(ref)
    assert before == COUNTS.to_host


def test_the_copy_on_the_host_is_shared():
    """It is made on first use, and again after its last reference."""
    ref = on_device(np.arange(4.0))
    before = COUNTS.to_host
    held = ref.data
    assert held is ref.data
    assert before + 1 == COUNTS.to_host
    del held
    gc.collect()

    assert np.arange(4.0).tobytes() == bytes(ref.data)
    assert before + 2 == COUNTS.to_host


def test_values_of_a_device_that_no_longer_answers_are_gone(monkeypatch):
    """Only their description is shown; nothing fails."""
    ref, other = on_device(np.arange(4.0)), on_device(np.arange(4.0))
    held = other.data
    monkeypatch.setattr(type(ref.memory), "lost", True)

    assert (True, None) == (ref.evicted, ref.data)
    assert TensorSummary(ref).stats is None
    assert preview.default(ref) is None
    lost = "the value of tensor 'X' is lost: device gpu:0 no longer responds$"
    with pytest.raises(ValueError, match=lost):
        ref.view()
    with pytest.raises(TraceError, match=lost):
        preview.grid(ref)
    assert held is other.data


def test_an_alias_shares_the_memory():
    """Nothing is copied, not even on the device."""
    ref = on_device(np.arange(6.0))
    within = COUNTS.within
    renamed, turned = ref.alias("Y", (6,)), ref.alias("X", (2, 3))

    assert ref.value_id == renamed.value_id
    assert ((2, 3), "gpu:0") == (turned.shape, turned.device)
    assert [[0, 1, 2], [3, 4, 5]] == turned.view().tolist()
    assert within == COUNTS.within


def test_eviction_frees_the_memory_of_the_device():
    """The description names the device."""
    gc.collect()
    before = DEVICES[0].in_use
    ref = on_device(np.zeros(1000, np.uint8))
    left = ref.without_data()
    del ref
    gc.collect()

    assert ("gpu:0", 1000, True) == (left.device, left.byte_size, left.evicted)
    assert before == DEVICES[0].in_use


def test_a_preview_copies_only_its_slice():
    """One of a hundred slices."""
    array = np.arange(100 * 64, dtype=np.float32).reshape(100, 8, 8)
    before = COUNTS.to_host_bytes
    shown = preview.grid(on_device(array), [7])

    assert 8 * 8 * 4 == COUNTS.to_host_bytes - before
    assert preview.grid(freeze("X", array, BY_NUMPY[array.dtype]), [7]) == shown


def test_channels_of_a_picture_are_slices():
    """The axes are moved on the device."""
    array = np.random.default_rng(1).random((2, 16, 16, 3), np.float32)
    ours, theirs = on_device(array), freeze("X", array, BY_NUMPY[array.dtype])

    assert preview.grid(theirs, [1, 2]) == preview.grid(ours, [1, 2])
    assert preview.image(theirs) == preview.image(ours)


def test_bf16_is_shown_as_numbers():
    """It is widened on the device."""
    bits = np.array([[0x3F80, 0x4000]], np.uint16)

    assert [[1.0, 2.0]] == on_device(bits, dtype=BF16).view().tolist()
    assert (1.0, 2.0) == (
        preview.grid(on_device(bits, dtype=BF16)).low,
        preview.grid(on_device(bits, dtype=BF16)).high,
    )


def test_tensors_on_device_and_host_are_compared():
    """The device is not a difference."""
    array = np.arange(4.0)
    same = difference(on_device(array), freeze("X", array, BY_NUMPY[array.dtype]))
    other = difference(on_device(array + 1), freeze("X", array, BY_NUMPY[array.dtype]))

    assert ValueChange.SAME == same.change
    assert (ValueChange.VALUES, 4) == (other.change, other.differing)


@pytest.mark.parametrize("device", ["", "gpu:3"])
def test_a_value_of_a_file_is_on_the_host(device):
    """The device that the file names does not matter."""
    ref = TensorRef("X", BY_NUMPY[np.dtype("f4")], (1,), b"\0" * 4, device)

    assert "cpu" == on_host(ref).device
    assert ref.data is on_host(ref).data


def test_a_value_on_the_host_is_returned_itself():
    """It is not copied."""
    ref = freeze("X", np.zeros(1), BY_NUMPY[np.dtype("f8")])

    assert ref is on_host(ref)


def test_devices_have_names_and_numbers():
    """Names of the trace and numbers of DLPack."""
    assert "gpu:2" == device_name(2)
    assert (2, 0) == (device_number("gpu:2"), device_number("cpu"))
