"""Fields of requests and parameters of responses, by every door, in every output."""

from __future__ import annotations

import asyncio
import json
import struct
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from cells import CONFIG, cell
from tritonclient.grpc import service_pb2 as pb
from views.encoded import encode

from blsnb import Server, load_run
from blsnb.backends import remote_messages
from blsnb.parts.server_parts import parts_of
from blsnb.pb_utils.message import RequestMessage
from blsnb.request_fields import PLAIN, RequestFields, RequestOptions, fields_of
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.http.endpoint import HttpEndpoint
from blsnb.testing import ReplayError, TestedServer
from blsnb.trace.comparison import compare
from blsnb.trace.files.perfetto import perfetto_json
from blsnb.trace.spans import Span, Trace
from blsnb.trace.triton.json_form import triton_json
from blsnb.trace.triton.trace_file import read_traces
from blsnb.views.documents.document import still
from blsnb.views.tree import tree

X = {"X": np.array([1, 2], np.float32)}
OPTIONS: RequestOptions = {
    "version": 1,
    "parameters": {"text": "a b", "count": 3, "strict": True, "share": 0.5},
    "request_id": "mine",
    "correlation_id": 7,
    "sequence_start": True,
    "sequence_end": True,
    "priority": 2,
    "timeout_us": 60_000_000,
}
FIELDS = fields_of(OPTIONS)
ANSWER = (("tone", "calm"), ("tokens", 5), ("last", True))
LEAF = cell("""
answer = {"tone": "calm", "tokens": 5, "last": True}
tensor = pb_utils.Tensor("Y", x_of(request))
return [pb_utils.InferenceResponse([tensor], parameters=answer)]
""")
STREAM = cell("""
sender = request.get_response_sender()
for last in (False, True):
    answer = {"tone": "calm", "tokens": 5, "last": last}
    tensor = pb_utils.Tensor("Y", x_of(request))
    sender.send(pb_utils.InferenceResponse([tensor], parameters=answer))
sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
""")
DECOUPLED = f"{CONFIG}\nmodel_transaction_policy {{ decoupled: true }}\n"
CALLER = cell("""
sent = pb_utils.InferenceRequest(
    model_name="leaf", model_version=1, inputs=request.inputs(),
    requested_output_names=["Y"], request_id="mine", correlation_id=7, flags=3,
    timeout=60_000_000, parameters={"text": "a b", "count": 3, "strict": True},
)
return [reply(answer_of(sent.exec()))]
""")
ENSEMBLE = f"""
platform: "ensemble"
{CONFIG}
ensemble_scheduling {{
  step {{
    model_name: "leaf" model_version: 1
    input_map {{ key: "X" value: "X" }} output_map {{ key: "Y" value: "Y" }}
  }}
}}
"""


@pytest.fixture
def server() -> Iterator[Server]:
    """A server whose model answers with parameters."""
    with Server() as server:
        server.define("leaf", LEAF, config=CONFIG)
        yield server


def leaf_of(trace: Trace) -> Span:
    """Return the last call of the model that answers with parameters."""
    return [s for s in trace.spans if trace.models[s.model].name == "leaf"][-1]


def last_trace(server: Server) -> Trace:
    """Return the trace of the run that ended last."""
    return server.runs[-1].trace


def test_every_field_has_a_value_here_that_is_not_its_default():
    """A new field fails here until every entry point and output has it."""
    assert [] == [
        name
        for name in RequestFields._fields
        if getattr(FIELDS, name) == getattr(PLAIN, name)
    ]
    assert FIELDS.options == {**OPTIONS, "version": 1}


def test_infer_records_request_and_response(server):
    """The record has the caller's own values; requests without options share one."""
    span = leaf_of(server.infer("leaf", X, **OPTIONS).trace)
    plain = leaf_of(server.infer("leaf", X).trace)

    assert (FIELDS, ANSWER) == (span.request_fields, span.response_parameters)
    assert PLAIN is plain.request_fields


def test_async_infer_records_request_and_response(server):
    """The record is that of `infer`."""
    run = asyncio.run(server.async_infer("leaf", X, **OPTIONS))
    span = leaf_of(run.trace)

    assert (FIELDS, ANSWER) == (span.request_fields, span.response_parameters)


def test_a_stream_records_the_parameters_of_each_response(server):
    """They are stored with time and outputs."""
    server.define("leaf", STREAM, config=DECOUPLED)
    stream = server.stream("leaf", X, **OPTIONS)
    list(stream)
    span = leaf_of(last_trace(server))

    assert FIELDS == span.request_fields
    assert [
        {"tone": "calm", "tokens": 5, "last": False},
        {"tone": "calm", "tokens": 5, "last": True},
    ] == [dict(each.parameters) for each in span.responses if each.outputs]


def test_the_http_end_point_passes_every_field_on(server):
    """They are in the parameters of KServe's protocol."""
    shared = SharedState(parts_of(server))
    end = HttpEndpoint(parts_of(server), shared, "127.0.0.1", 0)
    body = {
        "id": "mine",
        "parameters": {**FIELDS.reserved, **dict(FIELDS.parameters)},
        "inputs": [{"name": "X", "shape": [1], "datatype": "FP32", "data": [1]}],
    }
    try:
        status, reply = _post(end.port, "/v2/models/leaf/versions/1/infer", body)
    finally:
        end.close(1)
        shared.close()
    span = leaf_of(last_trace(server))

    assert (200, dict(ANSWER)) == (status, reply["parameters"])
    assert (FIELDS, ANSWER) == (_sorted(span.request_fields), span.response_parameters)


def _post(port: int, path: str, body: Any) -> tuple[int, Any]:
    import http.client

    client = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        client.request("POST", path, json.dumps(body))
        reply = client.getresponse()
        return reply.status, json.loads(reply.read())
    finally:
        client.close()


def _sorted(fields: RequestFields) -> RequestFields:
    """Return fields with the parameters in the order of `OPTIONS`."""
    order = list(OPTIONS["parameters"] or {})
    pairs = sorted(fields.parameters, key=lambda pair: order.index(pair[0]))
    return fields._replace(parameters=tuple(pairs))


def test_the_grpc_end_point_passes_every_field_on(server):
    """It reads what the stand-in of a remote server sends."""
    pytest.importorskip("grpc")
    import grpc
    from tritonclient.grpc import service_pb2_grpc

    from blsnb.serving.endpoints import serve

    message = RequestMessage("leaf", (), (), FIELDS)
    sent: pb.ModelInferRequest = remote_messages.request_of(message, "leaf")
    sent.model_version = "1"
    sent.inputs.add(name="X", datatype="FP32").shape.append(1)
    sent.raw_input_contents.append(struct.pack("<f", 1))
    with (
        serve(server, http=None, grpc=0, metrics=None) as endpoints,
        grpc.insecure_channel(endpoints.addresses["gRPC"]) as channel,
    ):
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        reply = stub.ModelInfer(sent, timeout=30)
    span = leaf_of(last_trace(server))

    assert dict(ANSWER) == remote_messages.response_of(reply).parameters
    assert (FIELDS, set(ANSWER)) == (
        _sorted(span.request_fields),
        set(span.response_parameters),
    )


def test_a_stand_in_of_a_remote_server_passes_every_field_on(server):
    """The remote server chooses the version; its parameters are returned."""
    from blsnb.serving.endpoints import serve

    with Server() as near, serve(server, http=None, grpc=0, metrics=None) as endpoints:
        address = f"grpc://{endpoints.addresses['gRPC']}"
        near.define("leaf", LEAF, config=CONFIG)
        near.standin("leaf", remote=address)
        run = near.infer("leaf", X, **OPTIONS)
        here, there = leaf_of(run.trace), leaf_of(last_trace(server))

    assert FIELDS == here.request_fields
    assert FIELDS._replace(version=-1) == _sorted(there.request_fields)
    assert (
        set(ANSWER) == set(here.response_parameters) == set(there.response_parameters)
    )


def test_bls_requests_and_their_responses_are_recorded(server):
    """BLS requests have neither a priority nor floats."""
    server.define("caller", CALLER, config=CONFIG)
    span = leaf_of(server.infer("caller", X).trace)
    pairs = FIELDS.parameters[:3]

    assert FIELDS._replace(priority=0, parameters=pairs) == span.request_fields
    assert ANSWER == span.response_parameters


def test_an_ensemble_passes_the_fields_to_its_steps_as_triton_does(server):
    """Parameters of the steps' responses are returned and recorded."""
    server.define("together", None, config=ENSEMBLE)
    run = server.infer("together", X, **OPTIONS)
    [root, step] = run.trace.spans

    assert FIELDS == root.request_fields
    assert ("mine", 7, 3, FIELDS.parameters) == (
        step.request_fields.request_id,
        step.request_fields.correlation_id,
        step.request_fields.flags,
        step.request_fields.parameters,
    )
    assert ANSWER == step.response_parameters
    assert tuple(run.responses[0].parameters.items()) == root.response_parameters


def test_a_replay_sends_the_recorded_fields(server):
    """It compares the fields of the responses."""
    replayed = server.infer("leaf", X, **OPTIONS).replay(0)
    span = leaf_of(replayed.this.trace)

    assert (FIELDS, ANSWER) == (span.request_fields, span.response_parameters)
    assert [] == replayed.changes


def test_the_pytest_plugin_replays_the_recorded_fields(server, tmp_path):
    """A changed parameter of a response is an error; the comparison shows it."""
    path = server.infer("leaf", X, **OPTIONS).save(tmp_path / "run.blsrun")
    with TestedServer() as tested:
        tested.define("leaf", LEAF, config=CONFIG)
        span = leaf_of(tested.assert_replays(path).this.trace)
        tested.define("leaf", LEAF.replace("calm", "loud"), config=CONFIG)
        with pytest.raises(ReplayError, match="tone: 'loud', recorded") as caught:
            tested.assert_replays(path)
        [change] = caught.value.comparison.changes

    assert (FIELDS, ANSWER) == (span.request_fields, span.response_parameters)
    assert (("response parameter tone", "'loud'", "'calm'"),) == change.request


def test_a_stand_in_from_a_recorded_run_answers_with_the_recorded_parameters(server):
    """It returns the model's parameters."""
    run = server.infer("leaf", X, **OPTIONS)
    with Server() as other:
        other.define("leaf", LEAF.replace("calm", "loud"), config=CONFIG)
        other.standin("leaf", replay=run)
        assert dict(ANSWER) == other.infer("leaf", X).responses[0].parameters


@pytest.fixture
def trace(server: Server) -> Trace:
    """A run with every field."""
    return server.infer("leaf", X, **OPTIONS).trace


SHOWN = {
    "version": "1",
    "request_id": "mine",
    "correlation_id": "7",
    "sequence_start": "True",
    "sequence_end": "True",
    "priority": "2",
    "timeout_us": "60000000",
}
PARAMETERS = [["text", "'a b'"], ["count", "3"], ["strict", "True"], ["share", "0.5"]]


def test_a_saved_run_has_every_field(server, tmp_path):
    """The file and the loaded run have them."""
    path = server.infer("leaf", X, **OPTIONS).save(tmp_path / "run.blsrun")
    span = leaf_of(load_run(path).trace)

    assert (FIELDS, ANSWER) == (span.request_fields, span.response_parameters)


def test_the_page_has_every_field(trace):
    """The names are those of the options of infer, the values text."""
    header, _ = encode(trace)

    assert {"0": {**SHOWN, "parameters": PARAMETERS}} == header["requests"]
    assert {
        "0": [[0, [["tone", "'calm'"], ["tokens", "5"], ["last", "True"]]]]
    } == header["response_parameters"]


@pytest.mark.parametrize("output", [tree, still, lambda trace: repr(trace.spans[0])])
def test_text_and_table_have_every_field(trace, output: Callable[[Trace], str]):
    """They are written as in a call of infer."""
    import html

    text = html.unescape(output(trace))
    options = {**FIELDS.options}
    if output in (tree, still):
        # The title has it.
        del options["request_id"]
        assert "request mine" in text

    assert [] == [
        word for word in (f"{n}={v!r}" for n, v in options.items()) if word not in text
    ]
    if "<Span" not in text:
        assert f"parameters={dict(ANSWER)!r}" in text


def test_perfetto_has_every_field(trace):
    """They are arguments of the call's event."""
    events = json.loads("".join(perfetto_json([trace])))["traceEvents"]
    [args] = [each["args"] for each in events if "call" in each.get("args", {})]
    shown = {name: value for name, value in FIELDS.options.items() if name != "version"}

    assert shown == {name: args[name] for name in shown}
    assert (1, dict(ANSWER)) == (args["requested_version"], args["response_parameters"])


def test_a_triton_trace_file_has_every_field(trace, tmp_path):
    """Triton's own keys come first; reading the file restores the fields."""
    path = tmp_path / "trace.json"
    path.write_text("".join(triton_json([trace])))
    [again] = read_traces(path)
    span = again.spans[0]

    assert (FIELDS, ANSWER) == (span.request_fields, span.response_parameters)


def test_a_comparison_names_every_field_that_differs(server, trace):
    """Both values are shown; a request or correlation id alone does not count."""
    plain = server.infer("leaf", X).trace
    named = server.infer("leaf", X, request_id="a", correlation_id=3).trace
    text = tree(compare(trace, plain))
    differing = compare(trace, plain).changes[0].request

    assert {*SHOWN, *(f"parameter {name}" for name, _ in PARAMETERS)} == {
        change.name for change in differing
    }
    assert "priority: 2; before: none" in text
    assert {} == compare(named, plain).changes
