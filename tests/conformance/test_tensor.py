"""Tensors: what they accept, what they share, and what of them is transmitted."""

import pytest

from .asking import given, run

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


@pytest.mark.parametrize("array", ARRAYS.values(), ids=ARRAYS)
def test_constructor_takes_arrays(agree, array):
    """A constructor takes an array or refuses it, with Triton's class and text."""
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
    "kept after the call": """
        t = bls("echo", ["FP64"], ("FP64", np.ones((1, 2)))).output_tensors()[0]
        a = t.as_numpy()
        del t
        see(a)
        """,
}


@pytest.mark.parametrize("code", SENT.values(), ids=SENT)
def test_what_is_transmitted(agree, code):
    """Data is taken at the first transmission; writing to a copy changes nothing."""
    agree(lambda target: run(target, code, "echo"))


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
        """,
    "an unknown device": """
        class Elsewhere:
            def __dlpack_device__(self):
                return (4, 0)
            def __dlpack__(self, stream=None):
                return None
        trial(lambda: pb_utils.Tensor.from_dlpack("U", Elsewhere()))
        """,
    "half a protocol": """
        class Half:
            def __dlpack__(self, stream=None):
                return None
        trial(lambda: pb_utils.Tensor.from_dlpack("U", Half()))
        """,
    "a private copy": """
        t = pb_utils.Tensor("T", np.arange(3.0))
        u = pb_utils.Tensor.from_dlpack("U", t)
        u.as_numpy()[0] = 9
        see(t, u, u.as_numpy().flags.owndata, u.as_numpy().flags.writeable)
        """,
}


@pytest.mark.parametrize("code", FROM_DLPACK.values(), ids=FROM_DLPACK)
def test_from_dlpack(agree, code):
    """Memory of another library becomes a tensor, or a refusal in Triton's words."""
    agree(lambda target: run(target, code))
