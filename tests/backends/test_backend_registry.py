"""Backends of other packages, found by their entry points."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import stage
from cells import cell

import blsnb.backends
from blsnb.backends.backend_registry import find_backend
from blsnb.errors import InferenceError, ModelConfigError, ModelLoadError
from blsnb.parts.server_parts import parts_of

from .third_party import install

ECHO = 'backend: "echo"'
STANDIN = (
    "A stand-in can replace it: %triton standin {0} --zeros, or --random SEED, "
    "--replay RUN, --call FUNCTION, --remote grpc://HOST:PORT; in Python "
    "server.standin('{0}', zeros=True) and so on."
)
X = {"X": np.array([1, 2], np.float32)}


@pytest.fixture
def echo(tmp_path, monkeypatch):
    """Install the backend ``echo``."""
    monkeypatch.syspath_prepend(str(tmp_path))
    install(tmp_path)
    yield
    sys.modules.pop("third_party_echo", None)


def add(server, config=ECHO, name="leaf"):
    """Load a model of the backend ``echo``."""
    parts_of(server).models.change(
        name, {"config.pbtxt": config, "1/model.echo": "anything"}
    )
    return server.load(name)


@pytest.mark.parametrize("backend", ["tensorrt", "pytorch", "vllm"])
def test_a_missing_backend_is_refused(server, backend):
    """The text is Triton's; the advice recommends a stand-in."""
    parts_of(server).models.change(
        "m", {"config.pbtxt": f"backend: '{backend}'", "1/model": "x"}
    )
    with pytest.raises(ModelLoadError) as caught:
        server.load("m")

    assert (
        "load failed for model 'm': version 1 is at UNAVAILABLE state: Invalid "
        f"argument: unable to find backend library for backend '{backend}', try "
        "specifying runtime on the model configuration.;\n" == caught.value.message
    )
    assert (
        f"blsnb has no backend '{backend}'. {STANDIN.format('m')}"
        == caught.value.advice
    )
    assert "UNAVAILABLE" == server.model("m").state


def test_a_backend_of_another_package_runs_its_models(server, echo):
    """It completes the configuration, creates, executes and finalizes instances."""
    config = f"{ECHO} instance_group {{ count: 2 kind: KIND_CPU }}"
    status = add(server, config)

    assert ("X:FP32[-1]",) == status.inputs
    assert {} == server.config("leaf")["parameters"]
    run = server.infer("leaf", X)
    server.unload("leaf")
    assert [1, 2] == run["Y"].tolist()
    assert {"by": "leaf_0_0"} == run.responses[0].parameters
    assert [
        "complete 1",
        "made leaf_0_0",
        "made leaf_0_1",
        "executes 1",
        "finalized leaf_0_1",
        "finalized leaf_0_0",
    ] == stage.seen


def test_a_python_model_can_call_it(server, echo):
    """The trace contains the call."""
    add(server)
    ask = """
response = pb_utils.InferenceRequest(
    model_name="leaf", inputs=request.inputs(), requested_output_names=["Y"]
).exec()
return [reply(pb_utils.get_output_tensor_by_name(response, "Y").as_numpy() * 2)]
"""
    io = "input { name: 'X' data_type: TYPE_FP32 dims: -1 }"
    io += io.replace("input", "output").replace("X", "Y")
    server.define("caller", cell(ask), config=io)

    run = server.infer("caller", X)
    caller, leaf = run.trace.spans

    assert [2, 4] == run["Y"].tolist()
    assert ("leaf_0", "echo", 0) == (
        leaf.instance,
        run.trace.models[leaf.model].backend,
        leaf.parent,
    )
    assert "cpu" == run.trace.models[leaf.model].device
    assert caller.compute_start_ns < leaf.compute_start_ns <= leaf.compute_end_ns
    assert ["X"] == [ref.name for ref in leaf.inputs]
    assert 1 == server.statistics("leaf")["model_stats"][0]["inference_count"]


def test_errors_have_the_text_of_the_backend(server, echo):
    """Other exceptions are reported as those of a Python model."""
    add(server)
    caught = []
    for name in ("raise", "fault"):
        with pytest.raises(InferenceError) as error:
            server.infer("leaf", X, request_id=name)
        caught.append((error.value.code, error.value.message.split("\n")[0]))

    assert [
        ("UNAVAILABLE", "echo fails"),
        (
            "INTERNAL",
            "Failed to process the request(s) for model 'leaf_0', message: "
            "ZeroDivisionError: division by zero",
        ),
    ] == caught
    assert [1, 2] == server.infer("leaf", X)["Y"].tolist()


def test_a_decoupled_model_sends_several_responses(server, echo):
    """The final flag follows them, or comes with an error."""
    add(server, f"{ECHO} model_transaction_policy {{ decoupled: true }}")

    answers = list(server.stream("leaf", X))

    assert [[1, 2], [1, 2]] == [answer["Y"].tolist() for answer in answers[:2]]
    assert [{}] == [answer.outputs for answer in answers[2:]]
    stream = server.stream("leaf", X, request_id="late")
    first, last = stream
    assert ([1, 2], "too much", True) == (first["Y"].tolist(), last.error, last.final)


@pytest.mark.parametrize(
    ("parameter", "reason"),
    [
        ("refused", "Unsupported: echo cannot;\n"),
        ("faulty", "Internal: ValueError: echo is faulty"),
    ],
)
def test_an_error_of_the_backend_fails_the_load(server, echo, parameter, reason):
    """All instances are finalized."""
    config = f"{ECHO} parameters {{ key: '{parameter}' value {{}} }}"
    with pytest.raises(ModelLoadError) as caught:
        add(server, config)

    assert reason in caught.value.message
    assert ("Say nothing." in caught.value.advice) is (parameter == "refused")


def test_a_backend_that_cannot_be_imported_is_reported(server, tmp_path, monkeypatch):
    """The advice contains the error."""
    monkeypatch.syspath_prepend(str(tmp_path))
    install(tmp_path, "third_party_nowhere:Echo")
    with pytest.raises(ModelLoadError) as caught:
        add(server)

    assert "unable to find backend library for backend 'echo'" in caught.value.message
    assert (
        'The backend is installed, but cannot be imported: ModuleNotFoundError("No '
        f"module named 'third_party_nowhere'\").\n{STANDIN.format('leaf')}"
    ) == caught.value.advice


@pytest.mark.parametrize(
    ("missing", "reason"),
    [
        (
            "onnxruntime",
            "The package onnxruntime is missing. Install it with pip install "
            "'blsnb[onnx]'.",
        ),
        (
            "blsnb.backends.onnxruntime",
            "The backend is installed, but cannot be imported: ModuleNotFoundError("
            "'import of blsnb.backends.onnxruntime halted; None in sys.modules').",
        ),
    ],
)
def test_a_package_of_an_own_backend_may_be_missing(monkeypatch, missing, reason):
    """Another module that is missing is not advised."""
    for name in list(sys.modules):
        if name.startswith("blsnb.backends.onnx"):
            monkeypatch.delitem(sys.modules, name)
            monkeypatch.delattr(blsnb.backends, name.rpartition(".")[2])
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ModelConfigError) as caught:
        find_backend("onnxruntime", "m")

    assert f"{reason}\n{STANDIN.format('m')}" == caught.value.advice
