"""Specification of imports and exports by DLPack capsules."""

import re

import numpy as np
import pytest

from blsnb.tensors import dlpack
from blsnb.tensors.dlpack import DLPackError, Holder
from blsnb.tensors.dtypes import BF16, BYTES, DTYPES

NUMERIC = [row for row in DTYPES if row not in (BYTES, BF16)]
INT32 = next(row for row in DTYPES if row.datatype == "INT32")
NO_GPU = (
    "DLPack capsule passed pointer to memory allocated on GPU device,           "
    "when GPU is not available"
)
NO_DLPACK = (
    "Provided tensor is not supported. Tensor must be a DLPack capsule         "
    "or have `__dlpack__` and `__dlpack_device__` attributes"
)
UNORDERED = (
    "DLPack tensor is not contiguous. Only contiguous DLPack tensors that are "
    "stored in C-Order are supported."
)


def of(array):
    """Return a capsule of an array's memory."""
    return array.__dlpack__()


@pytest.mark.parametrize("row", NUMERIC, ids=lambda row: row.datatype)
def test_a_capsule_of_each_type_is_imported_without_a_copy(row):
    """Its type and shape are those of the array."""
    array = np.ones((2, 3), row.dtype)

    assert (row, (2, 3), (1, 0)) == dlpack.describe(of(array))
    found, dtype = dlpack.import_capsule(of(array))
    assert row is dtype
    assert np.shares_memory(array, found)
    assert array.tolist() == found.tolist()


def test_bf16_is_imported_as_the_bits_of_its_elements():
    """NumPy has no such type."""
    given = of(np.array([1, 2], np.uint16))
    assert given is dlpack.labelled(given, BF16)
    assert 4 == dlpack._tensor(given).dtype.code

    found, dtype = dlpack.import_capsule(given)

    assert BF16 is dtype
    assert ([1, 2], np.uint16) == (found.tolist(), found.dtype)


@pytest.mark.parametrize(
    ("dtype", "changes"),
    [
        (np.complex64, {}),
        (np.int32, {"lanes": 2}),
        (np.int32, {"bits": 36}),
        (np.int32, {"bits": 4}),
        (np.int32, {"code": 3}),
    ],
)
def test_a_type_that_triton_lacks_is_refused(dtype, changes):
    """Vectors and parts of bytes have no name in Triton."""
    given = of(np.zeros(2, dtype))
    for name, value in changes.items():
        setattr(dlpack._tensor(given).dtype, name, value)

    with pytest.raises(DLPackError, match=r"^Dtype is invalid\.$"):
        dlpack.describe(given)


def test_bf16_has_16_bits():
    """The text has the found number."""
    given = of(np.zeros(2, np.int32))
    dlpack._tensor(given).dtype.code = 4

    with pytest.raises(DLPackError, match=r"16 bits, but had: 32$"):
        dlpack.describe(given)


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((2, 3), np.int32).T,
        np.zeros((4, 3), np.int32)[::2],
        np.zeros((2, 4), np.int32)[:, ::2],
        np.zeros((2, 2), np.int32)[:, ::-1],
        np.zeros((2, 1, 3), np.int32).T,
    ],
    ids=["transposed", "rows", "columns", "reversed", "with an axis of one"],
)
def test_elements_in_another_order_are_refused(array):
    """Triton overlooks the first axis and then reads the wrong elements."""
    with pytest.raises(DLPackError, match=f"^{re.escape(UNORDERED)}$"):
        dlpack.describe(of(array))


@pytest.mark.parametrize(
    "array",
    [
        np.zeros((3, 1), np.int32)[:, ::1].T,
        np.zeros((0, 3), np.int32).T,
        np.zeros((4, 3), np.int32)[::5],
        np.zeros((), np.int32),
    ],
    ids=["one row", "no elements", "one of several rows", "a scalar"],
)
def test_the_stride_of_an_axis_of_at_most_one_element_says_nothing(array):
    """There is no second element that could be in another place."""
    assert array.shape == dlpack.describe(of(array)).shape


def test_a_capsule_without_strides_is_in_c_order():
    """Older libraries leave them out."""
    given = of(np.arange(6).reshape(2, 3))
    dlpack._tensor(given).strides = None

    assert [[0, 1, 2], [3, 4, 5]] == dlpack.import_capsule(given).array.tolist()


def test_memory_of_a_device_is_refused_where_the_host_is_expected():
    """With Triton's text, and after its own type was found."""
    given = of(np.zeros(2, np.int32))
    dlpack.set_device(given, (dlpack.CUDA, 1))

    assert (INT32, (2,), (2, 1)) == dlpack.describe(given)
    with pytest.raises(DLPackError, match=f"^{re.escape(NO_GPU)}$"):
        dlpack.import_capsule(given)


@pytest.mark.parametrize(("kind", "expected"), [(1, False), (2, True), (3, False)])
def test_a_device_is_known_from_a_capsule_and_its_producer(kind, expected):
    """Pinned memory is memory of the host."""
    given = of(np.zeros(2, np.int32))
    dlpack.set_device(given, (kind, 0))

    assert expected is dlpack.is_on_cuda(given)
    holder = Holder(given, (kind, 0))
    assert expected is dlpack.is_on_cuda(holder)
    assert given is dlpack.capsule_of(given)
    assert given is dlpack.capsule_of(holder)


class HasCapsule:
    """A producer that does not tell its device."""

    def __dlpack__(self):
        """Return no capsule."""


class HasDevice:
    """A device without a capsule."""

    def __dlpack_device__(self):
        """Return the host."""
        return (1, 0)


@pytest.mark.parametrize(
    ("producer", "text"),
    [
        (HasCapsule(), NO_DLPACK),
        (HasDevice(), NO_DLPACK),
        ([1], NO_DLPACK),
        (Holder(None, (4, 0)), "DLDevice type 4 is not support by Python backend."),
    ],
    ids=["no device", "no capsule", "a list", "another device"],
)
def test_what_is_no_producer_of_memory_is_refused(producer, text):
    """The texts are Triton's."""
    with pytest.raises(DLPackError, match=f"^{re.escape(text)}$"):
        dlpack.is_on_cuda(producer)


@pytest.mark.parametrize("kind", [0, 4, 11, -1])
def test_a_capsule_of_another_device_is_refused(kind):
    """NumPy would read memory of the kinds 11 and 13 as the host's."""
    given = of(np.zeros(2, np.int32))
    dlpack.set_device(given, (kind, 0))

    text = f"^DLDevice type {kind} is not support by Python backend.$"
    with pytest.raises(DLPackError, match=text):
        dlpack.import_capsule(given)


def test_the_capsule_of_a_producer_is_checked():
    """It may be of another kind, or imported before."""
    given = of(np.zeros(2, np.int32))
    dlpack.import_capsule(given)

    with pytest.raises(DLPackError, match=f"^{re.escape(NO_DLPACK)}$"):
        dlpack.capsule_of(Holder(given))
    with pytest.raises(TypeError, match=r"^Object of type .int. is"):
        dlpack.capsule_of(Holder(3))


def test_an_imported_capsule_is_one_no_longer():
    """Its memory has another owner."""
    given = of(np.zeros(2, np.int32))
    assert dlpack.is_capsule(given)

    dlpack.import_capsule(given)

    assert not dlpack.is_capsule(given)
    assert not dlpack.is_capsule(3)
