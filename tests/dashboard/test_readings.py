"""What is read of every kind of model."""

import pytest
from asserting import every
from cells import CONFIG, DOUBLE, FINAL, cell

from blsnb import Server
from blsnb.engine.readings import read
from blsnb.parts.server_parts import parts_of

X = {"X": [1.0, 2.0]}
CACHED = f"{CONFIG}\nresponse_cache {{ enable: true }}\n"
DECOUPLED = f"{CONFIG}\nmodel_transaction_policy {{ decoupled: true }}\n"
STREAM = cell(
    f"""
    request.get_response_sender().send(reply(x_of(request)), {FINAL})
    return None
    """
)
ENSEMBLE = f"""
platform: "ensemble"
{CONFIG}
ensemble_scheduling {{
  step {{
    model_name: "double"
    model_version: -1
    input_map {{ key: "X" value: "X" }}
    output_map {{ key: "Y" value: "Y" }}
  }}
}}
"""


@pytest.fixture
def server():
    with Server(cache_bytes=1 << 20) as server:
        server.define("double", DOUBLE, config=CONFIG)
        server.define("cached", DOUBLE, config=CACHED)
        server.define("stream", STREAM, config=DECOUPLED)
        server.define("whole", None, config=ENSEMBLE)
        yield server


def readings(server):
    """Counters by name."""
    engine = parts_of(server).engine
    reading = read(engine.catalog, len(engine.open_requests.in_flight()), 7)
    return {each.name: each for each in reading.versions}


def test_latencies_of_every_kind_of_request_are_remembered(server):
    """Executed, cached, streamed and ensemble requests are included."""
    assert {()} == {each.latest for each in readings(server).values()}
    for _ in range(2):
        server.infer("cached", X)
    server.infer("whole", X)
    list(server.stream("stream", X))
    found = readings(server)

    # Of the two cached ones the first was executed, the second answered by the cache.
    assert {"cached": 2, "double": 1, "stream": 1, "whole": 1} == {
        name: len(each.latest) for name, each in found.items()
    }
    assert {"cached": 2, "double": 1, "stream": 1, "whole": 1} == {
        name: each.succeeded for name, each in found.items()
    }
    assert every(ns > 0 for each in found.values() for _, ns in each.latest)


def test_an_ensemble_has_no_instances(server):
    """Its models have them."""
    found = readings(server)

    assert (0, 0) == (found["whole"].busy, found["whole"].instances)
    assert (0, 1) == (found["double"].busy, found["double"].instances)


def test_the_latest_requests_are_bounded(server):
    """The oldest ones are dropped."""
    readings(server)
    for _ in range(520):
        server.infer("double", X)

    assert 512 == len(readings(server)["double"].latest)
    assert 520 == readings(server)["double"].succeeded
