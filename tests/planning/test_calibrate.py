"""Sequences, streams, priorities and rate limits: observed here, and planned."""

from __future__ import annotations

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, cell
from whole_text import whole

from blsnb import Server
from blsnb.benchmark.measure import closed_row
from blsnb.errors import BlsnbError
from blsnb.parts.requests import client_request
from blsnb.parts.server_parts import parts_of
from blsnb.planning import calibrate as calibrations
from blsnb.planning.calibrate import calibrate
from blsnb.planning.judgement import judge
from blsnb.planning.plans.planned_world import OwnWorld
from blsnb.planning.request_mix import load_findings, mix_of
from blsnb.planning.simulation.behaviour import SAME_SEQUENCE
from blsnb.planning.simulation.loads import Mix
from blsnb.request_fields import PLAIN

X = {"X": np.ones(2, np.float32)}
ROW = {"X": np.ones((1, 2), np.float32)}
BATCHING = CONFIG + " max_batch_size: 4"
OLDEST = (
    "sequence_batching { oldest "
    "{ max_candidate_sequences: 8 max_queue_delay_microseconds: 2000 } }"
)
LOAD = {"rate": 20, "p99_ms": 1e4}

STREAM = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        for request in requests:
            x = pb_utils.get_input_tensor_by_name(request, "X").as_numpy()
            sender = request.get_response_sender()
            for _ in range(3):
                y = pb_utils.Tensor("Y", x)
                sender.send(pb_utils.InferenceResponse([y]))
            sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
"""

EACH = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        inputs = [pb_utils.get_input_tensor_by_name(r, "X") for r in requests]
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("Y", x.as_numpy() * 2)])
            for x in inputs
        ]
"""

CALLER = """
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        responses = []
        for request in requests:
            call = pb_utils.InferenceRequest(
                model_name="double",
                inputs=[pb_utils.get_input_tensor_by_name(request, "X")],
                requested_output_names=["Y"],
                correlation_id=request.correlation_id(),
                flags=request.flags(),
            )
            y = pb_utils.get_output_tensor_by_name(call.exec(), "Y")
            responses.append(pb_utils.InferenceResponse([y]))
        return responses
"""


def observed(server, name, inputs, priorities=(), lengths=()):
    """Return the calibration of a server for a load."""
    parts = parts_of(server)
    request = client_request(name, inputs, {}, "plan")
    config = parts.engine.catalog.config(name)
    mix = mix_of(request, config, dict(priorities), lengths)
    return calibrate(parts, request, requests=6, duration_s=0.2, mix=mix)


def steps(found, name):
    """Return the steps of the first observed execution of a model."""
    return found.models[name].by_size[1][0].steps


def judged(found, rate=2):
    """Return a short simulation of a calibration, and what a plan says of it.

    The rate is low: on a busy machine, quick models were observed to be slow.
    """
    judgement = judge(found, None, rate, 300)
    return judgement, list(load_findings(found.mix, judgement))


def test_a_model_with_sequences_is_planned(server):
    """Its batches are observed with several sequences; none stays open."""
    server.define("double", EACH, config=f"{BATCHING} {OLDEST}")
    request = client_request("double", ROW, {}, "plan")
    world = OwnWorld(parts_of(server), request, Server)
    found = world.calibrate(6, 0.2, Mix(lengths=(2, 4)))
    judgement, texts = judged(found)

    assert judgement.is_held
    assert "0.667 sequences/s of 3 requests, each sent when the last" in texts[0]
    text = "a check does not send sequences of several requests yet"
    with pytest.raises(BlsnbError, match=whole(text)), world.sender({}):
        pass
    assert (2, 4) == found.mix.lengths
    assert max(found.models["double"].sizes) > 1


def test_batches_are_observed_with_one_client_more_than_requests(server, monkeypatch):
    """The first request may be executed alone; each place in a batch gets ten."""
    loops = []

    def counted(client, clients, load):
        loops.append((clients, load.requests))
        return closed_row(client, clients, load)

    monkeypatch.setattr("blsnb.planning.calibrate.closed_row", counted)
    server.define("double", EACH, config=f"{BATCHING} dynamic_batching {{ }}")
    observed(server, "double", ROW)

    assert [(1, 6), (3, 20), (5, 40)] == loops[:3]
    assert [1, 4] == [clients for clients, _ in loops[3:]]


def test_sequences_without_lengths_are_refused(server):
    """The text says how to give them."""
    server.define("double", DOUBLE, config=f"{BATCHING} sequence_batching {{ }}")

    with pytest.raises(ValueError, match=r"sequence_lengths=\[8\] \(--sequence 8\)$"):
        server.plan("double", ROW, **LOAD)


def test_a_caller_passes_its_sequence_on(server):
    """The call belongs to the sequence of its caller's request."""
    server.define("double", DOUBLE, config=f"{CONFIG} {OLDEST}")
    server.define("caller", CALLER, config=CONFIG)
    found = observed(server, "caller", X, lengths=[3])

    assert SAME_SEQUENCE == steps(found, "caller")[0].fields.correlation_id
    assert judged(found)[0].is_held


def test_a_model_that_some_requests_call_is_planned(server):
    """Alone and in batches, though the first request did not call it."""
    delay = "dynamic_batching { max_queue_delay_microseconds: 5000 }"
    server.define("double", EACH, config=f"{BATCHING} {delay}")
    third = "if next(self.numbers) % 3 == 2:\n"
    call = "    answer_of(ask('double', request).exec())\n"
    source = f"{third}{call}return [reply(x_of(request))]"
    methods = "import itertools\nnumbers = itertools.count()\n"
    server.define("some", cell(source, methods=methods), config=BATCHING)
    found = observed(server, "some", ROW)

    assert ["double", "some"] == sorted(found.models)
    assert [1, 4] == [found.models["double"].sizes[at] for at in (0, -1)]
    assert 0 < judged(found)[0].models["double"].calls < 1


def test_a_coroutine_is_planned(server):
    """Only what it computes between its waits needs a processor."""
    waits = "await asyncio.sleep(0.02)\n"
    call = "response = await ask('double', request).async_exec()\n"
    source = f"{waits}{call}return [reply(answer_of(response))]"
    server.define("double", DOUBLE, config=CONFIG)
    server.define("a", cell(source, asynchronous=True), config=CONFIG)
    behaviour = observed(server, "a", X).models["a"].by_size[1][0]

    assert ["double", ""] == [step.model for step in behaviour.steps]
    assert 0 < behaviour.computing_ns < 10_000_000 < behaviour.own_ns


def test_a_stream_is_planned_with_its_first_response(server):
    """Its responses, and the return of ``execute``, are steps of its execution."""
    more = "model_transaction_policy { decoupled: true }"
    server.define("stream", STREAM, config=f"{CONFIG} {more}")
    found = observed(server, "stream", X)
    judgement, texts = judged(found)

    assert 3 == sum(step.sends for step in steps(found, "stream"))
    assert 1 == sum(step.returns for step in steps(found, "stream"))
    assert judgement.firsts_us[0] < judgement.p50_us
    assert "The first response comes after" in texts[0]


def test_priorities_are_planned(server):
    """Each has latencies of its own."""
    more = "dynamic_batching { priority_levels: 2 default_priority_level: 2 }"
    server.define("double", EACH, config=f"{BATCHING} {more}")
    judgement, texts = judged(observed(server, "double", ROW, {1: 0.2, 2: 0.8}))

    assert [1, 2] == list(judgement.by_priority)
    assert ["Priority 1", "Priority 2"] == [text[:10] for text in texts]


@pytest.mark.parametrize(("mode", "limits"), [("off", None), ("execution_count", {})])
def test_rate_limits_of_the_server_are_planned(mode, limits):
    """They have no effect on a server that does not limit rates."""
    group = (
        'instance_group { name: "g" count: 2 kind: KIND_CPU rate_limiter '
        '{ resources { name: "R" count: 1 } } }'
    )
    with Server(rate_limit=mode) as server:
        server.define("double", DOUBLE, config=f"{CONFIG} {group}")
        found = observed(server, "double", X)

    assert limits == found.rate_limits
    assert judged(found)[0].is_held


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        ({"priorities": {1: 0}}, ValueError, "priorities={1: 0} is not valid"),
        ({"priorities": {-1: 1}}, ValueError, "priorities={-1: 1} is not valid"),
        ({"priorities": 3}, TypeError, "priorities"),
        ({"sequence_lengths": [0]}, ValueError, r"sequence_lengths=\[0\] is not valid"),
        ({"sequence_lengths": 5}, TypeError, "sequence_lengths"),
    ],
)
def test_invalid_loads_are_refused(server, given, error, text):
    """The text has the value and what was expected."""
    server.define("double", DOUBLE, config=CONFIG)

    with pytest.raises(error, match=text):
        server.plan("double", X, **given, **LOAD)


def test_a_calibration_leaves_no_open_sequence(server):
    """Another client would wait for its slot until it is idle for a minute."""
    idle = "sequence_batching { direct {} max_sequence_idle_microseconds: 60000000 }"
    server.define("double", DOUBLE, config=f"{CONFIG} {idle}")
    request = client_request("double", X, {})
    observe = calibrations._traces
    observe(parts_of(server), request, 1, 3, 60.0, [1_000])
    options = {"correlation_id": 7, "sequence_start": True, "client_timeout_s": 10}

    assert [2, 2] == server.infer("double", X, **options)["Y"].tolist()


def test_calls_of_no_sequence_have_no_fields(server):
    """So most steps share one value."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("caller", CALLER, config=CONFIG)

    assert PLAIN == steps(observed(server, "caller", X), "caller")[0].fields


def test_requests_that_a_queue_refuses_are_no_failures(server):
    """Clients of a closed loop may be more than the queue has places."""
    policy = "default_queue_policy { max_queue_size: 1 }"
    slow = cell("time.sleep(0.002)\nreturn [reply(x_of(request))]")
    server.define("slow", slow, config=f"{BATCHING} dynamic_batching {{ {policy} }}")

    found = observed(server, "slow", ROW)

    assert [1, 4] == [each.clients for each in found.reproductions]


def test_a_calibration_with_failures_is_refused(server):
    """Else it would be made of the other requests."""
    more = "dynamic_batching { max_queue_delay_microseconds: 20000 }"
    server.define("double", DOUBLE, config=f"{BATCHING} {more}")

    with pytest.raises(BlsnbError, match="request of the calibration to 'double', wi"):
        observed(server, "double", ROW)


def test_a_calibration_that_ends_before_its_first_request_is_refused(server):
    """As on a machine with other work; the text names the duration."""
    server.define("double", DOUBLE, config=CONFIG)

    text = (
        "no request of the calibration to 'double' succeeded within 1e-09 s; pass a "
        "larger duration_s to plan()"
    )
    with pytest.raises(BlsnbError, match=whole(text)):
        server.plan("double", X, duration_s=1e-9, **LOAD)


def test_a_batch_of_a_client_is_planned_as_a_batch(server):
    """Whether or not its model has a batcher."""
    server.define("double", EACH, config=BATCHING)
    found = observed(server, "double", {"X": np.ones((3, 2), np.float32)})

    assert 3 == found.mix.size
    assert [3] == found.models["double"].sizes
    assert {} == judged(found)[0].extrapolated
