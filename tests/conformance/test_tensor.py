"""Tensors of accepted arrays, in shared memory and sent."""

import textwrap

import pytest

from .asking import given, run
from .covering import rows

ARRAYS = {
    "bool": "np.array([True, False])",
    "int8": "np.array([-1], dtype=np.int8)",
    "uint64": "np.array([2**64 - 1], dtype=np.uint64)",
    "float16": "np.array([1.5], dtype=np.float16)",
    "float64": "np.array([1.5])",
    "object": 'np.array(["a", b"b", 3, None, 1.5, True], dtype=object)',
    "bytes": 'np.array([b"ab", b"c\\0"])',
    "text": 'np.array(["ab"])',
    "complex": "np.array([1j])",
    "longdouble": "np.array([1], dtype=np.longdouble)",
    "big-endian": 'np.array([1], dtype=">i4")',
    "little-endian": 'np.array([1], dtype="<i4")',
    "datetime": 'np.array(["2024-01-01"], dtype="datetime64[D]")',
    "timedelta": 'np.array([1], dtype="timedelta64[s]")',
    "void": 'np.array([b"ab"], dtype="V2")',
    "structured": 'np.zeros(2, dtype=[("a", "i4")])',
    "record": "np.rec.array([(1, 2.0)])",
    "masked": "np.ma.array([1.0])",
    "matrix": "np.asmatrix([[1.0, 2.0]])",
    "0-d": "np.array(2.5, dtype=np.float32)",
    "0-d object": 'np.array("text", dtype=object)',
    "empty": "np.zeros((0,), dtype=np.float32)",
    "empty matrix": "np.zeros((2, 0, 3), dtype=np.int16)",
    "empty object": "np.zeros((0, 2), dtype=object)",
    "transposed": "np.arange(6, dtype=np.int32).reshape(2, 3).T",
    "Fortran": "np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3))",
    "sliced": "np.arange(10, dtype=np.int32)[1:8:3]",
    "reversed": "np.arange(4, dtype=np.int32)[::-1]",
    "broadcast": "np.broadcast_to(np.float32(3), (2, 2))",
    "objects transposed": 'np.array([["a", "b"], ["c", "d"]], dtype=object).T',
    "list": "[1.0]",
    "tuple": "(1.0,)",
    "int": "1",
    "text itself": '"text"',
    "None": "None",
    "memoryview": 'memoryview(b"ab").tolist()',
}


@rows(
    {
        **dict.fromkeys(
            ["None", "list", "tuple", "int", "text itself", "memoryview"],
            "3.2/not-an-ndarray-none-list-tuple",
        ),
        **dict.fromkeys(
            ["bool", "int8", "uint64", "float16", "float64", "little-endian"],
            "3.2/dtypes-bool-u1-u2-u4-u8",
        ),
        "object": (
            "3.2/dtype-object",
            "3.2/element-objects-in-object-arrays-anything",
        ),
        "bytes": "3.2/dtype-s-n-np-bytes_",
        **dict.fromkeys(
            ["text", "complex", "longdouble", "datetime", "timedelta", "void"],
            "3.2/dtype-u-n-complex-longdouble-datetime",
        ),
        "structured": "3.2/dtype-u-n-complex-longdouble-datetime",
        "big-endian": "3.2/dtype-u-n-complex-longdouble-datetime",
        "masked": "3.2/masked-array",
    }
)
@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_constructor_takes_arrays(agree, array):
    """A constructor accepts an array or refuses it with Triton's class and text."""
    code = f"""
    array = {array}
    trial(lambda: pb_utils.Tensor("T", array))
    """
    agree(lambda target: run(target, code))


REFUSED = {
    "text",
    "complex",
    "longdouble",
    "big-endian",
    "datetime",
    "timedelta",
    "void",
    "structured",
    "record",
    "masked",
    "list",
    "tuple",
    "int",
    "text itself",
    "None",
    "memoryview",
}


@rows(
    {
        "bytes": ("3.2/dtype-s-n-np-bytes_", "22/model-client"),
        "object": ("3.2/element-objects-in-object-arrays-anything", "22/model-client"),
        "transposed": (
            "3.2/fortran-order-transposed-sliced-negative-strides",
            "22/transposed-reversed-outputs",
        ),
        "reversed": (
            "3.2/fortran-order-transposed-sliced-negative-strides",
            "22/transposed-reversed-outputs",
        ),
        "Fortran": "3.2/fortran-order-transposed-sliced-negative-strides",
        "sliced": "3.2/fortran-order-transposed-sliced-negative-strides",
        "0-d": ("3.2/0-d-array", "22/0-d-output"),
        "0-d object": ("3.2/0-d-array", "22/0-d-output"),
        "empty": ("3.2/zero-size-e-g-0-0", "22/zero-size-numeric-or-bytes-tensors"),
        "empty matrix": "3.2/zero-size-e-g-0-0",
        "empty object": "22/zero-size-numeric-or-bytes-tensors",
        "objects transposed": "22/elements-a-vs-a-b-c",
    }
)
@pytest.mark.parametrize("name", [name for name in ARRAYS if name not in REFUSED])
def test_what_the_client_receives(agree, name):
    """An output has its logical values in C order, and its own datatype and shape."""
    code = f'give(pb_utils.Tensor("T", {ARRAYS[name]}))'
    agree(lambda target: given(target, code))


NAMES = {
    "empty": 'trial(lambda: pb_utils.Tensor("", np.zeros(1)))',
    "bytes": 'trial(lambda: pb_utils.Tensor(b"T", np.zeros(1)).name())',
    "not UTF-8": 'trial(lambda: pb_utils.Tensor(b"\\xff", np.zeros(1)).name())',
    "non-ASCII": 'trial(lambda: pb_utils.Tensor("größe", np.zeros(1)).name())',
    "NUL": 'trial(lambda: pb_utils.Tensor("a\\0b", np.zeros(1)).name())',
    "empty before dtype": 'trial(lambda: pb_utils.Tensor("", np.zeros(1, complex)))',
}


@rows({"empty": "3.2/name", "bytes": "3.2/name-none-int"})
@pytest.mark.parametrize("code", NAMES.values(), ids=NAMES)
def test_names(agree, code):
    """Any text but the empty one is a name."""
    agree(lambda target: run(target, code))


ALIASING = {
    "as_numpy is the array": """
        a = np.arange(3.0)
        t = pb_utils.Tensor("T", a)
        see(t.as_numpy() is a, t.as_numpy() is t.as_numpy())
        """,
    "a subclass is kept": """
        a = np.asmatrix([[1.0]])
        see(pb_utils.Tensor("T", a).as_numpy() is a)
        """,
    "read-only stays read-only": """
        a = np.arange(3.0)
        a.flags.writeable = False
        see(pb_utils.Tensor("T", a).as_numpy().flags.writeable)
        """,
    "texts are kept as they are": """
        a = np.array(["a", b"b", 3], dtype=object)
        t = pb_utils.Tensor("T", a)
        see(t.as_numpy() is a, t.as_numpy())
        """,
    "a slice is copied": """
        base = np.arange(10.0)
        t = pb_utils.Tensor("T", base[::2])
        base[0] = 99
        see(t.as_numpy(), t.as_numpy().flags.owndata, t.as_numpy() is t.as_numpy())
        """,
    "a contiguous view is not": """
        base = np.arange(10.0)
        t = pb_utils.Tensor("T", base[2:5])
        base[2] = 99
        see(t.as_numpy(), t.as_numpy().flags.owndata)
        """,
    "shape is a new list": """
        t = pb_utils.Tensor("T", np.zeros((2, 3)))
        t.shape().append(4)
        see(t.shape(), t.shape() is t.shape())
        """,
    "a later reshape of the array": """
        a = np.zeros((2, 3))
        t = pb_utils.Tensor("T", a)
        a.shape = (3, 2)
        see(t.shape(), t.as_numpy().shape)
        """,
    "request inputs": """
        t = request.inputs()[0]
        see(request.inputs()[0] is t, t.as_numpy() is t.as_numpy())
        a = t.as_numpy()
        see(a.flags.owndata, a.flags.writeable, a.flags.c_contiguous, a.flags.aligned)
        """,
    "outputs of a response": """
        t = pb_utils.Tensor("T", np.zeros(1))
        response = pb_utils.InferenceResponse([t])
        response.output_tensors().append(t)
        see(len(response.output_tensors()), response.output_tensors()[0] is t)
        """,
    "inputs of a request": """
        t = pb_utils.Tensor("T", np.zeros(1))
        r = pb_utils.InferenceRequest(
            model_name="m", requested_output_names=["O"], inputs=[t])
        r.inputs().append(t)
        see(len(r.inputs()), r.inputs()[0] is t)
        """,
    "dlpack view is read-only and shares": """
        t = pb_utils.Tensor("T", np.arange(3.0))
        view = np.from_dlpack(t)
        see(view, view.flags.writeable)
        """,
    "dlpack device": """
        see(pb_utils.Tensor("T", np.zeros(1)).__dlpack_device__())
        see(pb_utils.Tensor("T", np.zeros(1, dtype=object)).__dlpack_device__())
        """,
    "dlpack of texts": """
        t = pb_utils.Tensor("T", np.array(["a"], dtype=object))
        trial(lambda: t.to_dlpack())
        trial(lambda: t.__dlpack__())
        trial(lambda: np.from_dlpack(t))
        """,
    "dlpack of each dtype": """
        for name in "bool u1 u2 u4 u8 i1 i2 i4 i8 f2 f4 f8".split():
            t = pb_utils.Tensor("T", np.ones(2, name))
            trial(lambda: str(np.from_dlpack(t).dtype))
        """,
    "capsule": """
        see(repr(pb_utils.Tensor("T", np.zeros(1)).to_dlpack()))
        """,
    "is_cpu": 'see(pb_utils.Tensor("T", np.zeros(1)).is_cpu())',
}


@rows(
    {
        "as_numpy is the array": (
            "3.1/as_numpy",
            "3.4/tensor-name-a-numeric-c-contiguous",
        ),
        "a subclass is kept": "3.2/ndarray-subclass-read-only-array",
        "read-only stays read-only": "3.2/ndarray-subclass-read-only-array",
        "texts are kept as they are": "3.4/tensor-name-a-bytes",
        "a slice is copied": "3.4/same-not-contiguous",
        "shape is a new list": "3.1/shape",
        "request inputs": ("3.4/request-input-bls-output", "4.2/inputs"),
        "outputs of a response": "5/output_tensors",
        "dlpack view is read-only and shares": "3.5/np-from_dlpack-t-for-cpu-tensors",
        "dlpack device": "3.1/__dlpack_device__",
        "dlpack of texts": (
            "3.5/to_dlpack-__dlpack__-on-bytes",
            "3.1/to_dlpack",
            "3.1/__dlpack__",
        ),
        "capsule": "3.1/to_dlpack",
        "is_cpu": "3.1/is_cpu",
    }
)
@pytest.mark.parametrize("code", ALIASING.values(), ids=ALIASING)
def test_what_is_shared(agree, code):
    """A tensor shares its array, a received one has a private copy."""
    agree(lambda target: run(target, code))


SENT = {
    "changed before it is sent": """
        a = np.ones((1, 2), dtype=np.float64)
        t = pb_utils.Tensor("FP64", a)
        a[:] = 2
        see(bls("echo", ["FP64"], t))
        """,
    "changed after it was sent": """
        a = np.ones((1, 2), dtype=np.float64)
        t = pb_utils.Tensor("FP64", a)
        see(bls("echo", ["FP64"], t))
        a[:] = 2
        see(bls("echo", ["FP64"], t), t)
        """,
    "texts changed before they are sent": """
        a = np.array([["a", "b"]], dtype=object)
        t = pb_utils.Tensor("STRING", a)
        a[0, 0] = "changed"
        see(bls("echo", ["STRING"], t), t)
        """,
    "a slice changed before it is sent": """
        base = np.ones((1, 4), dtype=np.float64)
        t = pb_utils.Tensor("FP64", base[:, ::2])
        base[:] = 2
        see(bls("echo", ["FP64"], t))
        """,
    "written through as_numpy": """
        t = pb_utils.Tensor("FP64", np.ones((1, 2)))
        t.as_numpy()[:] = 5
        see(bls("echo", ["FP64"], t))
        """,
    "a received tensor, written to": """
        t = bls("echo", ["FP64"], ("FP64", np.ones((1, 2)))).output_tensors()[0]
        t.as_numpy()[:] = 5
        see(t, bls("echo", ["FP64"], t), np.from_dlpack(t))
        """,
    "the receiver's copy": """
        a = np.ones((1, 2))
        t = bls("echo", ["FP64"], ("FP64", a)).output_tensors()[0]
        t.as_numpy()[:] = 5
        see(a, t.as_numpy().flags.writeable, t.as_numpy().flags.owndata)
        """,
    "elements of a received text": """
        a = np.array([["ä", b"\\xff", 3, None, 1.5, True, ""]], dtype=object)
        see(bls("echo", ["STRING"], ("STRING", a)))
        """,
    "elements of NumPy's types": """
        a = np.empty((1, 4), object)
        a[0, :] = [np.bytes_(b"a"), np.str_("b"), np.int8(3), type("B", (bytes,), {})()]
        see(bls("echo", ["STRING"], ("STRING", a)))
        """,
    "an array of bytes": """
        see(bls("echo", ["STRING"], ("STRING", np.array([[b"ab", b"c\\0d", b"e\\0"]]))))
        """,
    "transposed": """
        a = np.arange(6, dtype=np.int32).reshape(2, 3).T
        see(bls("echo", ["INT32"], ("INT32", a)))
        """,
    "transposed texts": """
        a = np.array([["a", "b"], ["c", "d"]], dtype=object).T
        see(bls("echo", ["STRING"], ("STRING", a)))
        """,
    "empty": """
        see(bls("echo", ["INT32"], ("INT32", np.zeros((0, 3), dtype=np.int32))))
        """,
    "one array in two tensors": """
        a = np.ones((1, 2))
        first, second = pb_utils.Tensor("FP64", a), pb_utils.Tensor("FP64", a)
        bls("echo", ["FP64"], first)
        a[:] = 2
        see(bls("echo", ["FP64"], first), bls("echo", ["FP64"], second))
        """,
    "a rejected call freezes too": """
        a = np.ones((1, 2))
        t = pb_utils.Tensor("FP64", a)
        bls("echo", ["NOPE"], t)
        a[:] = 2
        see(bls("echo", ["FP64"], t))
        """,
    "an unknown model freezes too": """
        a = np.ones((1, 2))
        t = pb_utils.Tensor("FP64", a)
        bls("nope", ["FP64"], t)
        a[:] = 2
        see(bls("echo", ["FP64"], t))
        """,
    "a dlpack view made before it is sent": """
        a = np.ones((1, 2))
        t = pb_utils.Tensor("FP64", a)
        view = np.from_dlpack(t)
        a[:] = 2
        see(view, bls("echo", ["FP64"], t), np.from_dlpack(t))
        """,
    "two megabytes": """
        a = np.arange(2**18, dtype=np.float64).reshape(512, 512)
        t = bls("echo", ["FP64"], ("FP64", a)).output_tensors()[0]
        see(t.shape(), bool((t.as_numpy() == a).all()))
        """,
    "kept after the call": """
        t = bls("echo", ["FP64"], ("FP64", np.ones((1, 2)))).output_tensors()[0]
        a = t.as_numpy()
        del t
        see(a)
        """,
}


@rows(
    {
        "changed before it is sent": "3.4/tensor-name-a-numeric-c-contiguous",
        "texts changed before they are sent": "3.4/tensor-name-a-bytes",
        "a slice changed before it is sent": "3.4/same-not-contiguous",
        "a received tensor, written to": "3.4/request-input-bls-output",
        "a dlpack view made before it is sent": "3.5/np-from_dlpack-t-for-cpu-tensors",
        "two megabytes": "22/tensors-1-mb",
        "transposed texts": "22/elements-a-vs-a-b-c",
    }
)
@pytest.mark.parametrize("code", SENT.values(), ids=SENT)
def test_what_is_transmitted(agree, code):
    """Data is copied at the first transmission; writing to a copy changes nothing."""
    agree(lambda target: run(target, code, "echo"))


CAPSULES = """
import ctypes
def tensor_of(capsule):
    "Address of a capsule's DLTensor: device 8, dtype 20, strides 32, offset 40."
    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return get(capsule, b"dltensor")
def retyped(t, code, bits, lanes=1):
    capsule = t.to_dlpack()
    typed = code | bits << 8 | lanes << 16
    ctypes.c_uint32.from_address(tensor_of(capsule) + 20).value = typed
    return capsule
def placed(capsule, kind):
    ctypes.c_int32.from_address(tensor_of(capsule) + 8).value = kind
    return capsule
kept = []
def strided(t, strides):
    capsule = t.to_dlpack()
    array = (ctypes.c_int64 * len(strides))(*strides)
    kept.append(array)
    at = tensor_of(capsule) + 32
    ctypes.c_void_p.from_address(at).value = ctypes.addressof(array)
    return capsule
"""

FROM_DLPACK = {
    "a tensor": """
        t = pb_utils.Tensor("T", np.arange(4, dtype=np.float32).reshape(2, 2))
        see(pb_utils.Tensor.from_dlpack("U", t))
        """,
    "a capsule": """
        t = pb_utils.Tensor("T", np.arange(4, dtype=np.int16))
        see(pb_utils.Tensor.from_dlpack("U", t.to_dlpack()))
        """,
    "0-d": """
        see(pb_utils.Tensor.from_dlpack("U", pb_utils.Tensor("T", np.array(2.5))))
        """,
    "empty": """
        see(pb_utils.Tensor.from_dlpack("U", pb_utils.Tensor("T", np.zeros((0, 3)))))
        """,
    "no name": 'trial(lambda: pb_utils.Tensor.from_dlpack("", None))',
    "None": 'trial(lambda: pb_utils.Tensor.from_dlpack("U", None))',
    "a list": 'trial(lambda: pb_utils.Tensor.from_dlpack("U", [1, 2]))',
    "texts": """
        t = pb_utils.Tensor("T", np.array(["a"], dtype=object))
        trial(lambda: pb_utils.Tensor.from_dlpack("U", t))
        for dtype in (object, "S2", "U2"):
            trial(lambda: pb_utils.Tensor.from_dlpack("U", np.array(["a"], dtype)))
        """,
    "an unknown device": """
        class Elsewhere:
            def __dlpack_device__(self):
                return (4, 0)
            def __dlpack__(self, stream=None):
                return None
        trial(lambda: pb_utils.Tensor.from_dlpack("U", Elsewhere()))
        """,
    "capsules of unknown devices": """
        t = pb_utils.Tensor("T", np.arange(2.0))
        for kind in (0, 4, 7, 11, 13, -1):
            capsule = placed(t.to_dlpack(), kind)
            trial(lambda: pb_utils.Tensor.from_dlpack("U", capsule))
        wide = pb_utils.Tensor("T", np.zeros((2, 3)))
        for capsule in (strided(wide, (1, 2)), retyped(t, 99, 64)):
            trial(lambda: pb_utils.Tensor.from_dlpack("U", placed(capsule, 4)))
        """,
    "devices that are no pairs": """
        class Producer:
            def __init__(self, device):
                self.device = device
            def __dlpack_device__(self):
                return self.device
            def __dlpack__(self, stream=None):
                return pb_utils.Tensor("T", np.arange(2.0)).to_dlpack()
        devices = [1, 0], (True, 0), None, 1, (1,), (1, 0, 0), (1.0, 0), ("1", 0)
        for device in (*devices, (1, None), (2**31, 0), (1, 2**63)):
            trial(lambda: pb_utils.Tensor.from_dlpack("U", Producer(device)))
        """,
    "producers without a capsule": """
        class Producer:
            def __dlpack_device__(self):
                return (1, 0)
            def __dlpack__(self, stream=None):
                return returned
        for returned in (5, None, "text"):
            trial(lambda: pb_utils.Tensor.from_dlpack("U", Producer()))
        """,
    "half a protocol": """
        class Half:
            def __dlpack__(self, stream=None):
                return None
        trial(lambda: pb_utils.Tensor.from_dlpack("U", Half()))
        """,
    "an unknown device's driver": """
        class Device:
            def __dlpack_device__(self):
                return (2, 0)
            def __dlpack__(self, stream=None):
                return None
        trial(lambda: pb_utils.Tensor.from_dlpack("U", Device()))
        """,
    "BF16": """
        t = pb_utils.Tensor("T", np.array([[16256, 16384]], dtype=np.int16))
        u = pb_utils.Tensor.from_dlpack("U", retyped(t, 4, 16))
        see(u.name(), u.shape(), u.is_cpu(), u.__dlpack_device__())
        trial(lambda: u.as_numpy())
        see(repr(u.to_dlpack())[:24])
        """,
    "BF16, there and back": """
        t = pb_utils.Tensor("T", np.array([16256, 16384], dtype=np.int16))
        u = pb_utils.Tensor.from_dlpack("U", retyped(t, 4, 16))
        see(pb_utils.Tensor.from_dlpack("V", retyped(u, 0, 16)))
        """,
    "BF16 of other widths": """
        t = pb_utils.Tensor("T", np.zeros(2))
        for bits, lanes in [(32, 1), (12, 1), (32, 2)]:
            trial(lambda: pb_utils.Tensor.from_dlpack("U", retyped(t, 4, bits, lanes)))
        """,
    "an offset": """
        capsule = pb_utils.Tensor("T", np.arange(4.0)[:2]).to_dlpack()
        ctypes.c_uint64.from_address(tensor_of(capsule) + 40).value = 8
        see(pb_utils.Tensor.from_dlpack("U", capsule))
        """,
    "complex": """
        t = pb_utils.Tensor("T", np.zeros(2))
        trial(lambda: pb_utils.Tensor.from_dlpack("U", retyped(t, 5, 64)))
        """,
    "lanes": """
        t = pb_utils.Tensor("T", np.zeros(2))
        trial(lambda: pb_utils.Tensor.from_dlpack("U", retyped(t, 2, 64, 2)))
        """,
    "not in C order": """
        t = pb_utils.Tensor("T", np.arange(24.0).reshape(2, 3, 4))
        for strides in [(12, 4, 1), (12, 1, 3), (1, 2, 6), (12, 8, 1)]:
            trial(lambda: pb_utils.Tensor.from_dlpack("U", strided(t, strides)))
        """,
    "strides of one row": """
        t = pb_utils.Tensor("T", np.arange(3.0).reshape(1, 3, 1))
        trial(lambda: pb_utils.Tensor.from_dlpack("U", strided(t, (7, 1, 9))))
        """,
    "the producer is asked": """
        t, asked = pb_utils.Tensor("T", np.arange(2.0)), []
        class Producer:
            def __dlpack_device__(self):
                asked.append("device")
                return t.__dlpack_device__()
            def __dlpack__(self, *args, **kwargs):
                asked.append([args, sorted(kwargs.items())])
                return t.__dlpack__()
        see(pb_utils.Tensor.from_dlpack("U", Producer()), asked)
        """,
    "a producer without stream": """
        t = pb_utils.Tensor("T", np.arange(2.0))
        class Producer:
            def __dlpack_device__(self):
                return (1, 0)
            def __dlpack__(self):
                return t.__dlpack__()
        trial(lambda: pb_utils.Tensor.from_dlpack("U", Producer()))
        """,
    "changes of the producer": """
        a = np.ones((1, 2))
        t = pb_utils.Tensor("T", a)
        u = pb_utils.Tensor.from_dlpack("FP64", t)
        a[:] = 2
        see(u, bls("echo", ["FP64"], u), u)
        """,
    "a private copy": """
        t = pb_utils.Tensor("T", np.arange(3.0))
        u = pb_utils.Tensor.from_dlpack("U", t)
        u.as_numpy()[0] = 9
        see(t, u, u.as_numpy().flags.owndata, u.as_numpy().flags.writeable)
        """,
}


@rows(
    {
        "a tensor": "3.1/from_dlpack",
        "a capsule": "3.1/from_dlpack",
        "0-d": "3.5/0-d-zero-size",
        "empty": "3.5/0-d-zero-size",
        "no name": "3.5/from_dlpack-x",
        "None": "3.5/object-that-is-neither-capsule-nor",
        "a list": "3.5/object-that-is-neither-capsule-nor",
        "half a protocol": "3.5/object-that-is-neither-capsule-nor",
        "an unknown device": "3.5/__dlpack_device__-cpu-1-cuda-2-cuda",
        "an unknown device's driver": "3.5/cuda-device-without-driver",
        "texts": "3.5/bytes-like-numpy-array",
        "complex": "3.5/unsupported-element-type-complex64",
        "not in C order": "3.5/strides-not-c-order",
        "the producer is asked": "3.5/__dlpack__-of-the-producer-is-called",
        "a producer without stream": "3.5/__dlpack__-of-the-producer-is-called",
        "a private copy": "3.4/from_dlpack-name-x",
        "changes of the producer": "3.4/from_dlpack-name-x",
        "BF16": "3.3/bf16",
        "BF16, there and back": "3.3/bf16",
    }
)
@pytest.mark.parametrize("code", FROM_DLPACK.values(), ids=FROM_DLPACK)
def test_from_dlpack(agree, code):
    """Memory of another library becomes a tensor, or a refusal in Triton's words."""
    agree(lambda target: run(target, CAPSULES + textwrap.dedent(code), "echo"))


def standard_name(known, seen):
    """Assert that blsnb names a used capsule as the standard does."""
    assert [['<capsule object "used_dlpack"']] == known
    assert [['<capsule object "used_dltensor"']] == seen


@rows("3.5/capsule-after-use")
def test_a_used_capsule(agree):
    """Triton gives it a name that its producer does not know, hence the crashes."""
    code = """
    capsule = pb_utils.Tensor("T", np.arange(2.0)).to_dlpack()
    pb_utils.Tensor.from_dlpack("U", capsule)
    see(repr(capsule).split(" at ")[0])
    """
    reason = "`Tensor.from_dlpack(name, numpy_array)` ends the process"
    agree(lambda target: run(target, code), deviates=reason, ours=standard_name)


def refused(known, seen):
    """Assert that blsnb refuses, with a text of Triton, what Triton reads wrongly."""
    assert "returned" == known[0][0]
    assert "raised" == seen[0][0]
    assert "DLPack tensor is not contiguous." in seen[0][3]


@rows("3.5/strides-not-c-order")
def test_a_first_axis_that_is_not_contiguous(agree):
    """Triton does not look at the outermost stride, and reads on without it."""
    code = """
    t = pb_utils.Tensor("T", np.arange(8.0).reshape(4, 2))
    half = pb_utils.Tensor("H", t.as_numpy()[:2])
    trial(lambda: pb_utils.Tensor.from_dlpack("U", strided(half, (1, 1))))
    """
    reason = (
        "a tensor from DLPack that is not contiguous in its first axis is read from "
        "the wrong places"
    )
    agree(
        lambda target: run(target, CAPSULES + textwrap.dedent(code)),
        deviates=reason,
        ours=refused,
    )


def test_ours_of_a_numpy_array(blsnb):
    """On Triton 24.10 this ends the process; blsnb makes a tensor of it."""
    code = 'see(pb_utils.Tensor.from_dlpack("U", np.arange(2.0)))'

    assert [[["Tensor", "U", [2], ["array", "float64", [2], "[0.0, 1.0]"]]]] == run(
        blsnb, code
    )
