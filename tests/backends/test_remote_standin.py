"""Stand-ins that forward requests to a real server."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from cells import CONFIG, cell
from conformance.reference import real_environment
from restarting_server import RestartingServer

from blsnb.errors import InferenceError, ModelLoadError, TritonServerError
from blsnb.parity.triton.server_process import TritonServer
from blsnb.parts.server_parts import parts_of

LEAF = """
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    @staticmethod
    def auto_complete_config(config):
        for name, data_type in (("X", "TYPE_FP32"), ("T", "TYPE_STRING")):
            config.add_input({"name": name, "data_type": data_type, "dims": [-1]})
        for name, data_type in (("Y", "TYPE_FP32"), ("FACTS", "TYPE_STRING")):
            config.add_output({"name": name, "data_type": data_type, "dims": [-1]})
        config.set_max_batch_size(4)
        return config

    def execute(self, requests):
        return [self.answer(request) for request in requests]

    def answer(self, request):
        x, t = (
            pb_utils.get_input_tensor_by_name(request, name).as_numpy()
            for name in "XT"
        )
        if x[0, 0] < 0:
            error = pb_utils.TritonError("negative", pb_utils.TritonError.UNSUPPORTED)
            return pb_utils.InferenceResponse(error=error)
        facts = f"{request.request_id()} {t[0, 0].decode()} {request.parameters()}"
        facts = np.array([[facts.encode()]], dtype=object)
        return pb_utils.InferenceResponse(
            [pb_utils.Tensor("Y", x * 3), pb_utils.Tensor("FACTS", facts)]
        )
"""
MANY = """
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            sender = request.get_response_sender()
            for number in range(int(x[0])):
                tensor = pb_utils.Tensor("Y", np.array([number], np.float32))
                sender.send(pb_utils.InferenceResponse([tensor]))
            if x[0] < 0:
                error = pb_utils.TritonError("negative")
                sender.send(pb_utils.InferenceResponse(error=error))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""
DECOUPLED = f"{CONFIG} model_transaction_policy {{ decoupled: true }}"
IDLE = "class TritonPythonModel:\n    pass\n"
pytestmark = pytest.mark.triton_server


@pytest.fixture(scope="module")
def real_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RestartingServer]:
    """A real server with three models, one of which is not loaded."""
    env = real_environment()
    folder = tmp_path_factory.mktemp("remote")
    write(folder / "leaf", LEAF, 'backend: "python"')
    write(folder / "many", MANY, f'backend: "python" {DECOUPLED}')
    write(folder / "idle", IDLE, 'backend: "python"')
    log = tmp_path_factory.mktemp("log") / "log"
    real_server = RestartingServer(
        lambda: TritonServer(env, folder, log), "leaf", "many"
    )
    try:
        yield real_server
    finally:
        real_server.close()


@pytest.fixture
def address(real_server: RestartingServer) -> str:
    """The address of that server."""
    return real_server.address


def write(folder: Path, source: str, config: str) -> None:
    """Write a model for the real server."""
    (folder / "1").mkdir(parents=True)
    (folder / "1" / "model.py").write_text(source)
    (folder / "config.pbtxt").write_text(config)


def stand(server, address, name="leaf", config=""):
    """Use the real server as a stand-in for a model of another backend."""
    parts_of(server).models.change(
        name, {"config.pbtxt": f'backend: "tensorrt" {config}'}
    )
    return server.standin(name, remote=address)


def test_requests_are_forwarded(server, address):
    """The remote configuration completes the local one; ids and parameters arrive."""
    status = stand(server, address)

    run = server.infer(
        "leaf",
        {"X": np.array([[1, 2], [3, 4]], np.float32), "T": [["grün"], ["b"]]},
        request_id="r7",
        parameters={"how": "well", "often": 2, "sure": True},
    )

    assert f"remote {address}" == status.standin
    assert ("X:FP32[-1]", "T:BYTES[-1]") == status.inputs
    assert 4 == status.max_batch_size
    assert [[3, 6], [9, 12]] == run["Y"].tolist()
    [[facts]] = run["FACTS"].tolist()
    assert facts.startswith("r7 grün {".encode())
    for each in (b'"how":"well"', b'"often":2', b'"sure":true'):
        assert each in facts.replace(b" ", b"")


def test_errors_are_those_of_the_remote_server(server, address):
    """Text and code are the same."""
    stand(server, address)
    with pytest.raises(InferenceError) as caught:
        server.infer("leaf", {"X": [[-1]], "T": [["a"]]})

    assert ("UNSUPPORTED", "negative") == (caught.value.code, caught.value.message)


def test_a_python_model_can_call_a_remote_model(server, address):
    """The call has a span of its own."""
    stand(server, address)
    ask = """
response = pb_utils.InferenceRequest(
    model_name="leaf",
    inputs=[
        pb_utils.Tensor("X", x_of(request)[None]),
        pb_utils.Tensor("T", np.array([["t"]], dtype=object)),
    ],
    requested_output_names=["Y"],
).exec()
return [reply(answer_of(response)[0])]
"""
    server.define("caller", cell(ask), config=CONFIG)
    run = server.infer("caller", {"X": [1.0, 2.0]})

    assert [3, 6] == run["Y"].tolist()
    assert [("cpu", -1), ("stand-in", 0)] == [
        (run.trace.models[span.model].device, span.parent) for span in run.trace.spans
    ]


def test_a_decoupled_model_streams(server, address):
    """Responses arrive one by one; there may be none, or an error."""
    stand(server, address, "many", DECOUPLED)
    streams = [list(server.stream("many", {"X": [count]})) for count in (3, 0, -1)]

    assert [[[0], [1], [2]], [], ["negative"]] == [
        [
            each.error or each["Y"].tolist()
            for each in stream
            if each.outputs or each.error
        ]
        for stream in streams
    ]
    stream = server.stream("many", {"X": [10_000]})
    assert [0] == next(stream)["Y"].tolist()
    stream.cancel()
    with pytest.raises(InferenceError) as caught:
        list(stream)
    assert "CANCELLED" == caught.value.code


def test_a_server_without_the_model_is_refused(server, address):
    """A server that cannot be reached is refused, too."""
    with pytest.raises(ModelLoadError, match=f"'idle' is not ready at {address}") as no:
        stand(server, address, "idle", CONFIG)
    assert "Load it there first." == no.value.advice
    with pytest.raises(ModelLoadError, match=f"a request to {address} failed: Req"):
        stand(server, address, "idle")
    with pytest.raises(
        ModelLoadError, match=r"request to grpc://127\.0\.0\.1:9 failed"
    ):
        stand(server, "grpc://127.0.0.1:9", "leaf", CONFIG)


LEAF_ROWS = [{"X": np.array([x]), "T": np.array([b"a"])} for x in (1, -1, 3)]
MANY_ROWS = [{"X": np.array([count], np.float32)} for count in (3, 0, -1)]


@pytest.mark.parametrize(
    ("name", "source", "config", "rows"),
    [
        ("leaf", LEAF, 'backend: "python"', [*LEAF_ROWS, {"X": np.array([1])}]),
        ("many", MANY, f'backend: "python" {DECOUPLED}', MANY_ROWS),
    ],
)
def test_rows_have_the_same_answers_on_a_real_server(
    server, address, name, source, config, rows
):
    """Outputs, streams, error texts and codes are those of this process."""
    server.define(name, source, config=config)
    here = server.evaluate(name, rows)
    there = server.evaluate(name, rows, server_url=address, workers=2)

    def answers(evaluation):
        return {
            key: [None if each is None else np.array(each).tolist() for each in column]
            for key, column in evaluation.outputs.items()
        }

    assert answers(here) == answers(there)
    assert here.errors == there.errors
    assert len(here.errors) > 0


def test_a_missing_model_or_server_is_refused_before_a_row(server, address):
    """The error names the model and the address."""
    with pytest.raises(TritonServerError, match=f"'absent' .* at {address}: Req"):
        server.evaluate("absent", [{"X": 1}], server_url=address)
    with pytest.raises(TritonServerError, match=r"at grpc://127\.0\.0\.1:9: "):
        server.evaluate("leaf", [{"X": 1}], server_url="grpc://127.0.0.1:9")
