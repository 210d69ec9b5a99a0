"""Requests that the server refuses, or wrongly seems to refuse, before the model."""

import pytest

from .asking import ask, tensor, texts
from .covering import rows
from .scripted import write
from .targets import Request, Value

ONES = tensor([1, 1, 1, 1])
SHORT = tensor([1, 1])


def fp32(shape, size):
    """Return FP32 zeros whose bytes need not fit their shape."""
    return Value("FP32", shape, bytes(size))


INPUTS = {
    "good": ("add", [("A", ONES), ("B", ONES)]),
    "good in another order": ("add", [("B", ONES), ("A", ONES)]),
    "none": ("add", []),
    "one of two": ("add", [("A", ONES)]),
    "the other of two": ("add", [("B", ONES)]),
    "three of two": ("add", [("A", ONES), ("B", ONES), ("C", ONES)]),
    "six of two": ("add", [(name, ONES) for name in "ABCDEF"]),
    "thirty of two": ("add", [(f"INPUT{n}", ONES) for n in range(30)]),
    "long names": ("add", [(f"INPUT_{n}", ONES) for n in range(4)]),
    "wrong name": ("add", [("A", ONES), ("Q", ONES)]),
    "two wrong names": ("add", [("P", ONES), ("Q", ONES)]),
    "case matters": ("add", [("A", ONES), ("b", ONES)]),
    "twice": ("add", [("A", ONES), ("A", ONES)]),
    "twice, and one more": ("add", [("A", ONES), ("B", ONES), ("A", ONES)]),
    "wrong datatype": ("add", [("A", ONES), ("B", tensor([1] * 4, "int32"))]),
    "two wrong datatypes": ("add", [(n, tensor([1] * 4, "int32")) for n in "AB"]),
    "BYTES for FP32": ("add", [("A", ONES), ("B", texts("a", "b", "c", "d"))]),
    "unknown datatype": ("add", [("A", ONES), ("B", Value("FLOAT", (4,), bytes(16)))]),
    "configuration's datatype": (
        "add",
        [("A", ONES), ("B", Value("TYPE_FP32", (4,), bytes(16)))],
    ),
    "no datatype": ("add", [("A", ONES), ("B", Value("", (4,), bytes(16)))]),
    "wrong length": ("add", [("A", ONES), ("B", tensor([1, 2, 3]))]),
    "two wrong lengths": ("add", [("A", tensor([1, 2, 3])), ("B", tensor([1, 2]))]),
    "wrong rank": ("add", [("A", ONES), ("B", tensor([[1, 2, 3, 4]]))]),
    "scalar": ("add", [("A", ONES), ("B", fp32((), 4))]),
    "empty": ("add", [("A", ONES), ("B", fp32((0,), 0))]),
    "negative dim": ("add", [("A", ONES), ("B", fp32((-1,), 16))]),
    "very negative dim": ("add", [("A", ONES), ("B", fp32((-4,), 16))]),
    "too few bytes": ("add", [("A", ONES), ("B", fp32((4,), 12))]),
    "too many bytes": ("add", [("A", ONES), ("B", fp32((4,), 20))]),
    "no bytes": ("add", [("A", ONES), ("B", fp32((4,), 0))]),
    "wrong datatype and length": ("add", [("A", ONES), ("B", tensor([1, 2], "int8"))]),
    "wrong length and bytes": ("add", [("A", ONES), ("B", fp32((3,), 4))]),
    "rows of any length": ("flexible", [("X", tensor([[1, 2, 3], [4, 5, 6]]))]),
    "rows of length zero": ("flexible", [("X", fp32((2, 0), 0))]),
    "three rows of two": ("flexible", [("X", tensor([[1], [2], [3]]))]),
    "no rows": ("flexible", [("X", fp32((0, 3), 0))]),
    "wildcard given": ("flexible", [("X", fp32((2, -1), 8))]),
    "wildcard, too few bytes": ("flexible", [("X", fp32((2, 3), 8))]),
    "a batch": ("batch", [(name, tensor([[1] * 4] * 3)) for name in "AB"]),
    "no batch dimension": ("batch", [("A", ONES), ("B", ONES)]),
    "batch dimension here, not there": (
        "batch",
        [("A", tensor([[1] * 4])), ("B", ONES)],
    ),
    "batches differ": (
        "batch",
        [("A", tensor([[1] * 4])), ("B", tensor([[1] * 4] * 2))],
    ),
    "batch too large": ("batch", [(name, tensor([[1] * 4] * 5)) for name in "AB"]),
    "batch too large, rows wrong": ("batch", [(n, tensor([[1]] * 5)) for n in "AB"]),
    "batch of none": ("batch", [(name, fp32((0, 4), 0)) for name in "AB"]),
    "batch of no texts": ("script_again_batched", [("CODE", texts(shape=(0, 1)))]),
    "batches of wildcards": ("batch", [(name, fp32((-1, 4), 16)) for name in "AB"]),
    "batch of wildcard, texts": (
        "script_again_batched",
        [("CODE", texts("a", shape=(-1, 1)))],
    ),
    "batch, rows too long": ("batch", [(name, tensor([[1] * 5])) for name in "AB"]),
    "batch, rank too high": ("batch", [(name, tensor([[[1] * 4]])) for name in "AB"]),
    "batch, scalars": ("batch", [(name, fp32((), 4)) for name in "AB"]),
    "batch, too few bytes": ("batch", [(name, fp32((2, 4), 16)) for name in "AB"]),
    "reshaped": ("reshaped", [("X", tensor([[[1, 2, 3], [4, 5, 6]]]))]),
    "reshaped, batch of two": ("reshaped", [("X", fp32((2, 2, 3), 48))]),
    "as the model sees it": ("reshaped", [("X", tensor([[1, 2, 3, 4, 5, 6]]))]),
    "optional there": ("optional", [(name, tensor([1, 2])) for name in "XY"]),
    "optional left out": ("optional", [("X", tensor([1, 2]))]),
    "required left out": ("optional", [("Y", tensor([1, 2]))]),
    "both left out": ("optional", []),
    "more than optional": ("optional", [(name, tensor([1, 2])) for name in "XYZ"]),
    "optional of wrong name": ("optional", [(name, tensor([1, 2])) for name in "XZ"]),
    "optional of wrong datatype": (
        "optional",
        [("X", tensor([1, 2])), ("Y", tensor([1, 2], "int64"))],
    ),
    "optional of wrong shape": (
        "optional",
        [("X", tensor([1, 2])), ("Y", tensor([1]))],
    ),
    "texts": ("texts", [("X", texts("", "ä\0b"))]),
    "texts, not UTF-8": ("texts", [("X", texts(b"\xff\x00", b"\0"))]),
    "too few texts": ("texts", [("X", texts("a", shape=(2,)))]),
    "too many texts": ("texts", [("X", texts("a", "b", "c", shape=(2,)))]),
    "no texts": ("texts", [("X", Value("BYTES", (2,), b""))]),
    "cut length": ("texts", [("X", Value("BYTES", (2,), b"\1\0\0\0a\1\0"))]),
    "cut text": ("texts", [("X", Value("BYTES", (2,), b"\1\0\0\0a\x32\0\0\0b"))]),
    "cut first text": ("texts", [("X", Value("BYTES", (2,), b"\x09\0\0\0ab"))]),
    "texts of wrong shape": ("texts", [("X", texts("a", "b", "c"))]),
    "numbers for texts": ("texts", [("X", tensor([1, 2]))]),
}


@rows(
    {
        "one of two": "19.2/missing-input",
        "none": "19.2/no-inputs",
        "three of two": "19.2/too-many-inputs",
        "wrong name": "19.2/wrong-input-name-right-count",
        "wrong datatype": "19.2/wrong-dtype",
        "wrong length": "19.2/wrong-shape-rank",
        "cut text": "22/malformed-client-bytes",
        "too few texts": "22/malformed-client-bytes",
        "texts, not UTF-8": "22/client-model-bytes",
    }
)
@rows(
    {
        "one of two": "r3.2/wrong-number-of-inputs-no-optional",
        "three of two": "r3.2/wrong-number-of-inputs-no-optional",
        "none": "r3.2/wrong-number-of-inputs-no-optional",
        "both left out": "r3.2/same-some-inputs-optional",
        "required left out": "r3.2/count-in-range-but-a-required",
        "wrong name": "r3.2/unknown-input-name-count-right",
        "twice": "r3.2/duplicate-input",
        "wrong datatype": "r3.2/wrong-datatype",
        "unknown datatype": "r3.2/unknown-datatype-string-float-type_fp32",
        "configuration's datatype": "r3.2/unknown-datatype-string-float-type_fp32",
        "three rows of two": "r3.2/wrong-shape-non-batching",
        "batch, rows too long": "r3.2/wrong-shape-batching",
        "as the model sees it": "r3.2/expected-list-with-reshape",
        "batch, scalars": "r3.2/empty-shape-batching",
        "batches differ": "r3.2/batch-sizes-differ-between-inputs",
        "batch too large, rows wrong": "r3.2/batch-too-large-reported-before-the",
        "batch of none": "r3.2/batch-0-0-2-on-a",
        "batch of no texts": "r3.2/batch-0-0-2-on-a",
        "rows of length zero": "r3.2/zero-dim-on-a-variable-dim",
        "wildcard given": "r3.2/dim-1-in-a-request",
        "too few bytes": "r3.2/byte-size-mismatch-binary-raw",
        "too few texts": "r3.2/bytes-too-few-elements",
        "too many texts": "r3.2/bytes-too-many",
        "cut length": "r3.2/bytes-cut-length-prefix",
        "cut text": "r3.2/bytes-cut-payload",
    }
)
@pytest.mark.parametrize(("model", "inputs"), INPUTS.values(), ids=INPUTS)
def test_inputs_are_checked(agree, model, inputs):
    """Names, datatypes, shapes, batches and bytes are checked, in Triton's order."""

    def case(target):
        target.load(model)
        return target.infer(Request(model, inputs))

    agree(case)


def refused(known, seen):
    """Assert that blsnb refuses what the model receives without its batch axis."""
    assert [["SUM", "FP32", [4], "00" * 16]] == known["outputs"]
    text = "input 'B' for model 'batch' has no rows; expected at least 1"
    assert ["INVALID_ARGUMENT", f"[request id: <id_unknown>] {text}"] == seen["error"]


def test_a_batch_of_none_with_the_bytes_of_a_row(agree):
    """Triton takes the rest of the shape for the whole."""

    def case(target):
        target.load("batch")
        inputs = [(name, fp32((0, 4), 16)) for name in "AB"]
        return target.infer(Request("batch", inputs))

    reason = "a batch of no rows is refused unless its data are those of one row"
    agree(case, deviates=reason, ours=refused)


TWICE = """
backend: "python"
input { name: "A" data_type: TYPE_FP32 dims: [ 4 ] }
input { name: "A" data_type: TYPE_FP32 dims: [ 3 ] optional: true }
output { name: "NAMES" data_type: TYPE_STRING dims: [ -1 ] }
instance_group { kind: KIND_CPU }
"""
NAMES = """
import numpy as np
import triton_python_backend_utils as pb_utils

class TritonPythonModel:
    def execute(self, requests):
        [request] = requests
        names = [tensor.name() for tensor in request.inputs()]
        names = pb_utils.Tensor("NAMES", np.array(names, object))
        return [pb_utils.InferenceResponse([names])]
"""


@pytest.mark.parametrize("optional", ["", "optional: true"], ids=["required", "not"])
def test_an_input_that_is_configured_twice(agree, optional):
    """Both are counted, and the first has the shape."""

    def case(target):
        name = f"twice_{len(optional)}"
        write(target, name, TWICE.replace("optional: true", optional), NAMES)
        loaded = target.load(name)
        given = [[], [("A", ONES)], [("A", tensor([1, 1, 1]))]]
        return [loaded, *(target.infer(Request(name, each)) for each in given)]

    agree(case)


REQUESTS = {
    "unknown model": Request("nope", [("A", ONES)]),
    "no model": Request(""),
    "unknown version": Request("add", version="9"),
    "its version": Request("add", [("A", ONES), ("B", ONES)], version="1"),
    "version zero": Request("add", version="0"),
    "version with a zero before": Request("add", version="01"),
    "version with a letter behind": Request("add", version="1x"),
    "negative version": Request("add", version="-1"),
    "version -2": Request("add", version="-2"),
    "no number": Request("add", version="abc"),
    "unknown model, no number": Request("nope", version="abc"),
    "huge version": Request("add", version="9" * 30),
    "with an id": Request("add", [("A", ONES)], id="my-id"),
    "id, unknown name": Request("add", [("A", ONES), ("Q", ONES)], id="my-id"),
    "A too short, unknown name": Request("add", [("A", SHORT), ("Q", ONES)]),
    "B too short, unknown name": Request("add", [("B", SHORT), ("Q", ONES)]),
    "unknown output": Request("add", [("A", ONES), ("B", ONES)], ["NOPE"]),
    "two unknown outputs": Request("add", [("A", ONES), ("B", ONES)], ["Q", "P"]),
    "unknown output before missing input": Request("add", [("A", ONES)], ["NOPE"]),
    "unknown output after doubled input": Request("add", [("A", ONES)] * 2, ["NOPE"]),
    "one output": Request("add", [("A", ONES), ("B", ONES)], ["DIFFERENCE"]),
    "an output twice": Request("add", [("A", ONES), ("B", ONES)], ["SUM", "SUM"]),
    "outputs in another order": Request(
        "add", [("A", ONES), ("B", ONES)], ["DIFFERENCE", "SUM"]
    ),
    "empty output name": Request("add", [("A", ONES), ("B", ONES)], [""]),
}


@rows(
    {
        "unknown model": "r3.2/unknown-model",
        "unknown version": "r3.2/explicit-version-not-existing",
        "unknown output": "r3.2/unknown-requested-output",
        "an output twice": "r3.2/duplicate-requested-output",
        "its version": "r3.2/outputs-absent-or",
    }
)
@pytest.mark.parametrize("request_", REQUESTS.values(), ids=REQUESTS)
def test_a_request_names_what_exists(agree, request_):
    """Model, version and outputs are looked up, in Triton's order and words."""

    def case(target):
        target.load("add")
        return target.infer(request_)

    agree(case)


PARAMETERS = {
    "none": {},
    "every kind": {"b": True, "i": -5, "s": "ä"},
    "id of a sequence": {"sequence_id": 7, "sequence_start": True},
    "name of a sequence": {"sequence_id": "seven", "sequence_end": True},
    "priority": {"priority": 3, "timeout": 10},
    "reserved": {"triton_anything": 1},
    "other reserved": {"headers": "x"},
}


@pytest.mark.parametrize("parameters", PARAMETERS.values(), ids=PARAMETERS)
def test_parameters_reach_the_model(agree, parameters):
    """The model sees its client's own parameters; the server's become fields."""

    def case(target):
        target.load("echo")
        inputs = [("INT8", tensor([[1]], "int8"))]
        return target.infer(Request("echo", inputs, ["REPORT"], parameters=parameters))

    agree(case)


EVERY_TYPE = {
    "BOOL": tensor([[True, False]], bool),
    "UINT8": tensor([[0, 255]], "uint8"),
    "UINT16": tensor([[0, 2**16 - 1]], "uint16"),
    "UINT32": tensor([[0, 2**32 - 1]], "uint32"),
    "UINT64": tensor([[0, 2**64 - 1]], "uint64"),
    "INT8": tensor([[-128, 127]], "int8"),
    "INT16": tensor([[-(2**15), 2**15 - 1]], "int16"),
    "INT32": tensor([[-(2**31), 2**31 - 1]], "int32"),
    "INT64": tensor([[-(2**63), 2**63 - 1]], "int64"),
    "FP16": tensor([[6e-8, float("inf")]], "float16"),
    "FP32": tensor([[1e-45, float("nan")]], "float32"),
    "FP64": tensor([[5e-324, -0.0]], "float64"),
    "STRING": texts(b"\xff\0", "ä", shape=(1, 2)),
}


ROWS_OF_TYPES = {
    "BOOL": "3.3/bool",
    **dict.fromkeys(["UINT8", "UINT16", "UINT32", "UINT64"], "3.3/uint8-16-32-64"),
    **dict.fromkeys(["INT8", "INT16", "INT32", "INT64"], "3.3/int8-16-32-64"),
    **dict.fromkeys(["FP16", "FP32", "FP64"], "3.3/fp16-fp32-fp64"),
    "STRING": ("3.3/bytes-type_string", "22/client-model-bytes"),
}


@rows(ROWS_OF_TYPES)
@pytest.mark.parametrize("name", EVERY_TYPE)
def test_every_type_travels_unchanged(agree, name):
    """A tensor of each datatype returns bit for bit, with its description."""
    agree(lambda target: ask(target, "echo", **{name: EVERY_TYPE[name]}))


@rows("22/zero-size-numeric-or-bytes-tensors")
@pytest.mark.parametrize("name", EVERY_TYPE)
def test_every_type_may_be_empty(agree, name):
    """A tensor without elements keeps its shape, whatever its datatype."""
    datatype = EVERY_TYPE[name].datatype
    agree(lambda t: ask(t, "echo", **{name: Value(datatype, (0, 3), b"")}))
