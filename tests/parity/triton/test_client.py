"""What the client of a real server sends, and what it makes of the responses."""

from __future__ import annotations

import time

import grpc
import numpy as np
import pytest
from tritonclient.grpc import service_pb2 as wire

from blsnb.benchmark.level import Level
from blsnb.errors import TritonServerError
from blsnb.parity.triton.client import TritonClient
from blsnb.parity.triton.executed import Executed, inferences
from blsnb.parity.triton.outcome import NO_RESPONSE, ClientFailure
from blsnb.parity.triton.server_process import ServerDiedError
from blsnb.pb_utils.message import RequestMessage
from blsnb.request_fields import RequestFields
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import TensorRef

X = TensorRef("X", BY_DATATYPE["FP32"], (1,), np.float32(1).tobytes())


class Failed(grpc.RpcError):
    """An error of a call."""

    def __init__(self, code, details="no"):
        self.code = lambda: code
        self.details = lambda: details


class FakeStub:
    """An interface whose methods return, or raise, what a test gives them by name."""

    def __init__(self, **results):
        self.sent = []
        self._results = results

    def __getattr__(self, name):
        def call(request, timeout):
            self.sent.append((name, request, timeout))
            result = self._results[name]
            if isinstance(result, list):
                result = result.pop(0)
            if isinstance(result, Exception):
                raise result
            return result

        return call


class Replies:
    """The responses of a stream."""

    def __init__(self, *replies):
        self._replies = iter(replies)
        self.cancelled = False

    def __iter__(self):
        return self._replies

    def cancel(self):
        """Note that the stream is over."""
        self.cancelled = True


def client_of(**results):
    """Return a client of a fake, and the fake."""
    stub = FakeStub(**results)
    return TritonClient(stub, "the server"), stub


def reply(value, **parameters):
    """Return a response with one output."""
    made = wire.ModelInferResponse()
    if value is not None:
        made.outputs.add(name="Y", datatype="FP32", shape=[1])
        made.raw_output_contents.append(np.float32(value).tobytes())
    for name, each in parameters.items():
        kind = "bool_param" if isinstance(each, bool) else "string_param"
        setattr(made.parameters[name], kind, each)
    return made


def test_queries_end_after_ten_seconds():
    """Each asks for one thing."""
    index = wire.RepositoryIndexResponse.ModelIndex
    rows = [
        index(name="good", state="READY"),
        index(name="good", state="UNAVAILABLE", reason="an old version"),
        index(name="bad", state="UNAVAILABLE", reason="broken"),
        index(name="idle", reason="not loaded"),
    ]
    client, stub = client_of(
        ServerMetadata=wire.ServerMetadataResponse(version="2.51.0"),
        ModelReady=wire.ModelReadyResponse(ready=True),
        RepositoryIndex=wire.RepositoryIndexResponse(models=rows),
        TraceSetting=wire.TraceSettingResponse(),
    )

    assert ("2.51.0", True) == (client.version(), client.is_ready("m"))
    assert {"bad": "broken"} == client.load_errors()
    client.set_tracing(True)
    client.set_tracing(False)
    sent = {name: request for name, request, _ in stub.sent}
    levels = [
        {name: list(each.value) for name, each in request.settings.items()}
        for name, request, _ in stub.sent
        if name == "TraceSetting"
    ]
    assert wire.ModelReadyRequest(name="m") == sent["ModelReady"]
    assert [{"trace_level": ["TIMESTAMPS"]}, {"trace_level": ["OFF"]}] == levels
    assert {10.0} == {timeout for _, _, timeout in stub.sent}


def test_a_server_that_does_not_respond_is_an_error():
    """It has the details of the failure only."""
    client, _ = client_of(ServerMetadata=Failed(grpc.StatusCode.UNAVAILABLE, "gone"))

    with pytest.raises(TritonServerError) as error:
        client.version()
    assert "the server does not respond: gone" == error.value.message


def test_executions_of_all_versions_are_counted_by_batch_size():
    """Their durations are those of inputs, execution and outputs together."""
    model = wire.ModelStatistics
    batch = wire.InferBatchStatistics
    took = wire.StatisticDuration
    statistics = wire.ModelStatisticsResponse(
        model_stats=[
            model(
                name="m",
                version=str(version),
                batch_stats=[
                    batch(
                        batch_size=size,
                        compute_input=took(count=9, ns=1),
                        compute_infer=took(count=size + version, ns=10),
                        compute_output=took(count=9, ns=100),
                    )
                    for size in sizes
                ],
            )
            for version, sizes in ((1, [1, 4]), (2, [4]))
        ]
    )
    client, _ = client_of(ModelStatistics=statistics)
    found = client.executions()

    assert {"m": {1: Executed(2, 111), 4: Executed(11, 222)}} == found
    assert 2 + 4 * 11 == inferences(found["m"])


def send(client, *, stream=False, version=-1, is_client_timeout=False):
    """Return the responses to a request."""
    message = RequestMessage("m", (X,), fields=RequestFields(version=version))
    before = time.monotonic_ns()
    outcome = client.send(
        message, 7.5, stream=stream, is_client_timeout=is_client_timeout
    )
    assert before <= outcome.start_ns
    assert 0 <= outcome.duration_ns <= time.monotonic_ns() - outcome.start_ns
    return outcome.responses


def values(responses):
    """Return value, parameters and final flag of responses."""
    return [
        (*(float(ref.view()[0]) for ref in each.outputs), each.parameters, each.final)
        for each in responses
    ]


def test_a_request_has_one_response_within_its_time():
    """Only a version that was chosen is sent."""
    client, stub = client_of(ModelInfer=reply(2, note="a"))

    for version in (-1, 0, 3):
        assert [(2.0, {"note": "a"}, True)] == values(send(client, version=version))
    assert ["", "0", "3"] == [each.model_version for _, each, _ in stub.sent]
    assert [7.5] * 3 == [timeout for _, _, timeout in stub.sent]


def test_a_stream_has_responses_up_to_its_final_flag():
    """The empty final response is requested, and the stream is cancelled at its end."""
    flag = "triton_final_response"
    message = wire.ModelStreamInferResponse
    replies = Replies(
        message(infer_response=reply(1, **{flag: False})),
        message(infer_response=reply(2)),
        message(infer_response=reply(None, **{flag: True}), error_message="no"),
        message(infer_response=reply(None, **{flag: True})),
    )
    client, stub = client_of(ModelStreamInfer=replies)
    responses = send(client, stream=True)

    [(_, requests, timeout)] = stub.sent
    [request] = requests
    assert request.parameters["triton_enable_empty_final_response"].bool_param
    assert (7.5, True) == (timeout, replies.cancelled)
    assert [(1.0, {}, False), (2.0, {}, False), ({}, True), ({}, True)] == values(
        responses
    )
    assert [None, None, ClientFailure("", "no"), None] == [
        each.failure for each in responses
    ]


@pytest.mark.parametrize(
    ("code", "is_client_timeout", "failure"),
    [
        ("INVALID_ARGUMENT", False, ("INVALID_ARG", "no")),
        ("UNAVAILABLE", True, ("UNAVAILABLE", "no")),
        ("DEADLINE_EXCEEDED", True, ("DEADLINE_EXCEEDED", "Deadline Exceeded")),
        ("DEADLINE_EXCEEDED", False, (NO_RESPONSE, "no response within 7.5 s")),
    ],
)
def test_a_failure_is_a_response(code, is_client_timeout, failure):
    """The time limit of the comparison is not the model's."""
    client, _ = client_of(
        ModelInfer=Failed(grpc.StatusCode[code]),
        ServerLive=wire.ServerLiveResponse(live=True),
    )
    [response] = send(client, is_client_timeout=is_client_timeout)

    assert (ClientFailure(*failure), True) == (response.failure, response.final)
    assert response.at_ns >= 0


@pytest.mark.parametrize(
    "live",
    [wire.ServerLiveResponse(live=False), Failed(grpc.StatusCode.UNAVAILABLE)],
    ids=["not live", "no response"],
)
def test_a_server_that_ended_is_no_response(live):
    """The comparison ends with it."""
    failed = Failed(grpc.StatusCode.UNAVAILABLE, "Socket closed")
    client, _ = client_of(ModelInfer=failed, ServerLive=live)

    with pytest.raises(ServerDiedError) as error:
        send(client)
    assert "the server ended during a request: Socket closed" == error.value.message


def test_a_load_repeats_its_requests_and_measures_each():
    """A failure is a sample, too; a request ends after half a minute."""
    failed = Failed(grpc.StatusCode.INVALID_ARGUMENT)
    client, stub = client_of(ModelInfer=[reply(1), failed, reply(1)])
    sender = client.sender([RequestMessage(name, (X,)) for name in ("a", "b")])
    level = Level(1.0)
    began_ns = time.monotonic_ns()
    for number, begun_ns in enumerate((0, 0, began_ns - 5)):
        sender.send(level, number, begun_ns)

    assert ["a", "b", "a"] == [request.model_name for _, request, _ in stub.sent]
    assert ({30.0}, False) == ({timeout for _, _, timeout in stub.sent}, sender.stream)
    assert ["", "[INVALID_ARG] no", ""] == [each.error for each in level.samples]
    assert began_ns - 5 == level.samples[2].began_ns
    assert {1} == {each.responses for each in level.samples}
