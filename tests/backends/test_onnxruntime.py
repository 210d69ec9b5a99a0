"""ONNX models run as on Triton: completed from their file, batched, refused.

The real server that the tests have is built without this backend, so that no answer
of it can be compared: what is expected here is read from the backend's source.
"""

from __future__ import annotations

import os
import sys

import numpy as np
import pytest
from cells import cell

import blsnb.backends
from blsnb.backends.onnx_session import session_options
from blsnb.backends.onnxruntime import OnnxRuntime
from blsnb.errors import BackendError, InferenceError, ModelLoadError
from blsnb.model.config import parse_pbtxt
from blsnb.model.normalization import normalise
from blsnb.parts.server_parts import parts_of
from blsnb.pb_utils.message import RequestMessage
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import freeze

from . import onnx_models as onnx

IO = """
input { name: 'X' data_type: TYPE_FP32 dims: 2 }
output { name: 'Y' data_type: TYPE_FP32 dims: 2 }
"""
CONTROL = """
max_batch_size: 4
sequence_batching {{ control_input {{ name: '{name}' control {{
  kind: {kind} {how} }} }} }}
"""
START = {"kind": "CONTROL_SEQUENCE_START", "how": "fp32_false_true: [0, 1]"}
FP32 = BY_DATATYPE["FP32"]
X = {"X": np.array([[1, 2]], np.float32)}


def load(server, data, config=None, name="leaf"):
    """Write a model with an ONNX file, and load it."""
    files = {"1/model.onnx": data}
    if config is not None:
        files["config.pbtxt"] = config
    return parts_of(server).models.change(name, files)


def test_a_model_needs_no_configuration(server):
    """It batches up to 4 requests if its first dimension is variable."""
    status = load(server, onnx.add_sub())
    config = server.config("leaf")
    run = server.infer("leaf", {name: [[3, 2]] for name in "AB"})

    assert ("A:FP32[2]", "B:FP32[2]") == status.inputs
    assert ("SUM:FP32[2]", "DIFFERENCE:FP32[2]") == status.outputs
    assert (4, 2) == (status.max_batch_size, status.instance_count)
    assert [4] == config["dynamic_batching"]["preferred_batch_size"]
    assert ("onnxruntime", "onnxruntime_onnx", "model.onnx") == (
        config["backend"],
        config["platform"],
        config["default_model_filename"],
    )
    assert {"DIFFERENCE": [[0, 0]], "SUM": [[6, 4]]} == {
        name: array.tolist() for name, array in run.outputs.items()
    }
    assert ["DIFFERENCE", "SUM"] == list(run.outputs)


@pytest.mark.parametrize(
    ("dims", "config", "expected"),
    [
        (("b", 2), "max_batch_size: 8", (8, (2,), None, "dynamic_batching")),
        (("b", 2), "max_batch_size: 1", (1, (2,), None, "")),
        (
            ("b", 2),
            "sequence_batching { direct {} }",
            (4, (2,), None, "sequence_batching"),
        ),
        (("b",), "", (4, (1,), (), "dynamic_batching")),
        ((3, 2), "", (0, (3, 2), None, "")),
        ((3, "c"), "", (0, (3, -1), None, "")),
        ((), "", (0, (1,), None, "")),
    ],
)
def test_a_configuration_is_completed_from_the_file(tmp_path, dims, config, expected):
    """Batch size, dims and scheduler follow from the shapes."""
    (tmp_path / "model.onnx").write_bytes(onnx.identity(dims=dims))
    written = normalise(parse_pbtxt(f"backend: 'onnxruntime' {config}"), model_name="m")
    completed = OnnxRuntime().complete(written, tmp_path)
    [spec] = completed.inputs

    assert expected == (
        completed.max_batch_size,
        spec.dims,
        spec.reshape,
        completed.scheduling,
    )


def test_a_complete_configuration_does_not_change(server):
    """No batch size is added if there are inputs and outputs."""
    config = """
input { name: 'X' data_type: TYPE_FP32 dims: [-1, 2] }
output { name: 'Y' data_type: TYPE_FP32 dims: [-1, 2] }
"""
    status = load(server, onnx.identity(), config)

    assert 0 == status.max_batch_size
    assert [[1, 2], [3, 4]] == (
        server.infer("leaf", {"X": [[1, 2], [3, 4]]})["Y"].tolist()
    )


@pytest.mark.parametrize(
    ("element", "dtype"),
    [
        (onnx.FLOAT, "float32"),
        (onnx.UINT8, "uint8"),
        (onnx.INT8, "int8"),
        (onnx.UINT16, "uint16"),
        (onnx.INT16, "int16"),
        (onnx.INT32, "int32"),
        (onnx.INT64, "int64"),
        (onnx.BOOL, "bool"),
        (onnx.FLOAT16, "float16"),
        (onnx.DOUBLE, "float64"),
        (onnx.UINT32, "uint32"),
        (onnx.UINT64, "uint64"),
    ],
)
def test_every_type_passes_unchanged(server, element, dtype):
    """Arrays keep their type."""
    load(server, onnx.identity(element, ("batch", 3)))
    array = np.array([[0, 1, 1]], dtype)

    answer = server.infer("leaf", {"X": array})["Y"]

    assert (dtype, [[0, 1, 1]]) == (answer.dtype.name, answer.tolist())


def test_strings_end_at_a_zero_byte(server):
    """ONNX Runtime uses C strings."""
    load(server, onnx.identity(onnx.STRING, ("batch", 2)))
    texts = np.array([["grün", "a\0b"], ["", "c"]], np.object_)

    answer = server.infer("leaf", {"X": texts})["Y"]

    assert [["grün".encode(), b"a"], [b"", b"c"]] == answer.tolist()


def test_a_scalar_has_dims_of_one(server):
    """Dims of a configuration must not be empty."""
    load(server, onnx.identity(dims=()))

    assert [5] == server.infer("leaf", {"X": np.array([5], np.float32)})["Y"].tolist()


def test_a_model_may_be_a_folder(server):
    """It contains a model.onnx and the files that it refers to."""
    parts_of(server).models.change("leaf", {"1/model.onnx/model.onnx": onnx.identity()})

    assert [[1, 2]] == server.infer("leaf", X)["Y"].tolist()


def instance(tmp_path, data, config=""):
    """Return an instance of a model."""
    (tmp_path / "model.onnx").write_bytes(data)
    backend = OnnxRuntime()
    written = normalise(parse_pbtxt(f"backend: 'onnxruntime' {config}"), model_name="m")
    completed = normalise(backend.complete(written, tmp_path), model_name="m")
    return backend.instance(completed, completed.instance_names()[0], tmp_path)


def request(*rows):
    """Return a request with these rows."""
    return RequestMessage("m", (freeze("X", np.array(rows, np.float32), FP32),))


def test_requests_are_executed_as_one_batch(tmp_path):
    """Each response has as many rows as its request."""
    made = instance(tmp_path, onnx.identity())
    requests = [request([1, 2]), request([3, 4], [5, 6]), request([7, 8])]

    answers = made.execute(requests)

    assert [[[1, 2]], [[3, 4], [5, 6]], [[7, 8]]] == [
        response.outputs[0].view().tolist() for [response] in answers
    ]


@pytest.mark.parametrize(
    ("rows", "text"),
    [
        (5, "batch size 5 for 'm_0', max allowed is 4"),
        (
            0,
            "a batch of size 0 has no response. Triton's backend drops such requests, "
            "and their clients wait indefinitely.",
        ),
    ],
)
def test_a_batch_of_an_invalid_size_is_refused(tmp_path, rows, text):
    """On Triton a batch without rows would hang."""
    made = instance(tmp_path, onnx.identity())
    empty = RequestMessage("m", (freeze("X", np.zeros((rows, 2), np.float32), FP32),))
    with pytest.raises(BackendError) as caught:
        made.execute([empty])
    error = caught.value
    assert text == (f"{error}. {error.advice}" if error.advice else str(error))
    assert "INTERNAL" == error.code


def test_an_output_with_too_few_rows_is_an_error(tmp_path):
    """Triton would read beyond its end."""
    rows = onnx.node("Unique", ["X"], ["Y"])
    data = onnx.model(
        [rows],
        [onnx.tensor("X", onnx.FLOAT, ("b",))],
        [onnx.tensor("Y", onnx.FLOAT, ("u",))],
    )
    made = instance(tmp_path, data)
    message = RequestMessage("m", (freeze("X", np.array([7, 7], np.float32), FP32),))
    with pytest.raises(BackendError) as caught:
        made.execute([message])
    assert "output 'Y' has 1 row for a batch of 2; Triton reads beyond its end" == str(
        caught.value
    )


def test_an_input_that_the_file_lacks_is_an_error(tmp_path):
    """The text is that of Triton's backend."""
    made = instance(tmp_path, onnx.identity())
    message = RequestMessage("m", (freeze("Z", np.zeros((1, 2), np.float32), FP32),))
    with pytest.raises(BackendError) as caught:
        made.execute([message])
    assert "Failed to retrieve the ONNX input tensor info from 'Z'." == str(
        caught.value
    )


def test_calls_of_a_python_model_are_batched_and_traced(server):
    """One execution serves all calls; each has a span of its own."""
    load(
        server,
        onnx.identity(),
        "max_batch_size: 4 dynamic_batching { preferred_batch_size: 3 "
        "max_queue_delay_microseconds: 5000000 } instance_group { count: 1 }",
    )
    ask = """
calls = [
    pb_utils.InferenceRequest(
        model_name="leaf",
        inputs=[pb_utils.Tensor("X", x_of(request)[k : k + 1])],
        requested_output_names=["Y"],
    ).async_exec()
    for k in range(3)
]
rows = [answer_of(answer) for answer in await asyncio.gather(*calls)]
return [reply(np.concatenate(rows))]
"""
    io = "input { name: 'X' data_type: TYPE_FP32 dims: [3, 2] }"
    io += io.replace("input", "output").replace("'X'", "'Y'")
    server.define("caller", cell(ask, asynchronous=True), config=io)
    rows = [[1, 2], [3, 4], [5, 6]]

    run = server.infer("caller", {"X": rows})
    spans = run.trace.spans

    assert rows == run["Y"].tolist()
    assert [(3, "leaf_0_0", 0)] * 3 == [
        (span.batch, span.instance, span.parent) for span in spans[1:]
    ]
    assert 1 == len({span.execution for span in spans[1:]})
    [row] = server.statistics("leaf")["model_stats"]
    assert (3, 1) == (row["inference_count"], row["execution_count"])


def test_an_error_of_onnx_runtime_has_tritons_text(server):
    """It contains number and text; the model remains ready."""
    shapes = [onnx.tensor(n, onnx.FLOAT, ("a", n)) for n in "AB"]
    data = onnx.model(
        [onnx.node("MatMul", ["A", "B"], ["Y"])],
        shapes,
        [onnx.tensor("Y", onnx.FLOAT, ("a", "b"))],
    )
    load(server, data, "max_batch_size: 0")
    with pytest.raises(InferenceError) as caught:
        server.infer("leaf", {"A": [[1, 2, 3]], "B": [[1]]})
    error = caught.value

    assert "INTERNAL" == error.code
    assert error.message.startswith(
        "onnx runtime error 1: Non-zero status code returned while running MatMul node."
    )
    assert [[6]] == server.infer("leaf", {"A": [[2]], "B": [[3]]})["Y"].tolist()


def test_onnx_runtime_checks_fixed_dims(server):
    """The configuration may allow more."""
    config = """
max_batch_size: 4
input { name: 'X' data_type: TYPE_FP32 dims: 2 }
output { name: 'Y' data_type: TYPE_FP32 dims: 2 }
"""
    load(server, onnx.identity(), config)
    with pytest.raises(InferenceError, match=r"Expected \[-1,2\], got \[1,3\]"):
        server.infer("leaf", {"X": [[1, 2, 3]]})


def controlled():
    """Return a model that adds the sequence's start to its input."""
    return onnx.model(
        [onnx.node("Add", ["X", "S"], ["Y"])],
        [
            onnx.tensor("X", onnx.FLOAT, ("b", 2)),
            onnx.tensor("S", onnx.FLOAT, ("b", 1)),
        ],
        [onnx.tensor("Y", onnx.FLOAT, ("b", 2))],
    )


def test_controls_of_a_sequence_reach_the_model(server):
    """The start is 1 for the first request, and 0 for the next."""
    load(server, controlled(), CONTROL.format(name="S", **START) + IO)
    first = server.infer("leaf", X, correlation_id=7, sequence_start=True)
    next_one = server.infer("leaf", X, correlation_id=7, sequence_end=True)

    assert [[[2, 3]], [[1, 2]]] == [first["Y"].tolist(), next_one["Y"].tolist()]


def test_an_initializer_is_an_optional_input(server):
    """The model must not batch; by default it uses its own value."""
    data = onnx.model(
        [onnx.node("Add", ["X", "BIAS"], ["Y"])],
        [onnx.tensor("X", onnx.FLOAT, (2,)), onnx.tensor("BIAS", onnx.FLOAT, (2,))],
        [onnx.tensor("Y", onnx.FLOAT, (2,))],
        [onnx.initializer("BIAS", [10, 20])],
    )
    bias = "input { name: 'BIAS' data_type: TYPE_FP32 dims: 2 optional: true }"
    load(server, data, IO + bias)

    x = np.array([1, 2], np.float32)
    assert [11, 22] == server.infer("leaf", {"X": x})["Y"].tolist()
    assert [2, 4] == server.infer("leaf", {"X": x, "BIAS": x})["Y"].tolist()


def test_instances_share_the_cores():
    """Thread counts of the configuration override this."""
    said = "parameters { key: 'intra_op_thread_count' value { string_value: ' 7x' } }"
    counts = [
        session_options(parse_pbtxt(text), instances).intra_op_num_threads
        for text, instances in (("", 10_000), (said, 10_000))
    ]

    assert [1, 7] == counts


def test_the_cores_are_those_that_the_process_may_use(monkeypatch):
    """All of the machine where the system does not say which."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: range(6), raising=False)
    shared = session_options(parse_pbtxt(""), 3)
    monkeypatch.delattr(os, "sched_getaffinity")
    monkeypatch.setattr(os, "cpu_count", lambda: 8)
    whole = session_options(parse_pbtxt(""), 2)
    monkeypatch.setattr(os, "cpu_count", lambda: None)
    unknown = session_options(parse_pbtxt(""), 1)

    assert [(2, 2), (4, 4), (1, 1)] == [
        (each.intra_op_num_threads, each.inter_op_num_threads)
        for each in (shared, whole, unknown)
    ]


@pytest.mark.parametrize(
    ("level", "expected"),
    [
        (-2, "ORT_ENABLE_ALL"),
        (-1, "ORT_ENABLE_BASIC"),
        (0, "ORT_ENABLE_ALL"),
        (1, "ORT_ENABLE_EXTENDED"),
        (2, "ORT_DISABLE_ALL"),
        (3, "ORT_ENABLE_ALL"),
    ],
)
def test_the_configuration_sets_the_level_of_optimization(level, expected):
    """Its numbers are those of Triton's backend; others mean everything."""
    text = f"optimization {{ graph {{ level: {level} }} }}"

    found = session_options(parse_pbtxt(text), 1).graph_optimization_level
    assert expected == found.name


@pytest.mark.parametrize(
    ("parameter", "option"),
    [
        ("enable_mem_arena", "enable_cpu_mem_arena"),
        ("enable_mem_pattern", "enable_mem_pattern"),
    ],
)
@pytest.mark.parametrize("text", ["true", "On", "1", "false", "Off", "0"])
def test_parameters_set_how_memory_is_kept(parameter, option, text):
    """Both are on by default."""
    entry = f"parameters {{ key: {parameter!r} value {{ string_value: {text!r} }} }}"

    assert getattr(session_options(parse_pbtxt(""), 1), option)
    kept = getattr(session_options(parse_pbtxt(entry), 1), option)
    assert kept == (text in ("true", "On", "1"))


@pytest.mark.parametrize(
    ("text", "expected"), [("0", "ORT_SEQUENTIAL"), ("1", "ORT_PARALLEL")]
)
def test_a_parameter_sets_the_mode_of_execution(text, expected):
    """Operators run one after the other by default."""
    entry = f"parameters {{ key: 'execution_mode' value {{ string_value: {text!r} }} }}"

    default = session_options(parse_pbtxt(""), 1).execution_mode
    assert "ORT_SEQUENTIAL" == default.name
    assert expected == session_options(parse_pbtxt(entry), 1).execution_mode.name


def test_without_the_package_the_load_fails(server, monkeypatch):
    """The text is Triton's; the advice is the command that installs it."""
    for name in list(sys.modules):
        if name.startswith("blsnb.backends.onnx"):
            monkeypatch.delitem(sys.modules, name)
            monkeypatch.delattr(blsnb.backends, name.rpartition(".")[2])
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModelLoadError) as caught:
        load(server, onnx.identity())

    assert (
        "unable to find backend library for backend 'onnxruntime', try specifying "
        "runtime on the model configuration." in caught.value.message
    )
    assert "pip install 'blsnb[onnx]'" in caught.value.advice
    assert "%triton standin leaf --zeros" in caught.value.advice
