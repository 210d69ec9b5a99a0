"""Which requests a Collector receives: blsnb beside a real server."""

from __future__ import annotations

import http.client
import json

import pytest
import waiting
from cells import CONFIG, DOUBLE

from blsnb import Server
from blsnb.serving.core.serving_options import ServingOptions
from blsnb.serving.core.trace_settings import TraceSetting
from blsnb.serving.endpoints import serve
from blsnb.watch.trace_settings import RemoteTraceSettings
from blsnb.watch.watch import Watch, receive

PARENT = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
SETTINGS = [{"rate": 3}, {"rate": 2, "count": 3}, {"count": 2}, {"level": "OFF"}]
pytestmark = [
    pytest.mark.triton_server,
    pytest.mark.timeout(180),  # A busy machine starts the real server slowly.
]


def sampled(address: str, watch: Watch) -> list[list[str]]:
    """Return the ids of the received requests for each of the settings."""
    settings = RemoteTraceSettings(f"http://{address}")
    found = []
    for number, setting in enumerate(SETTINGS):
        settings.change(**{"rate": 1, "level": "TIMESTAMPS", "count": -1, **setting})
        infer(address, f"{number} context at first", traceparent=PARENT)
        for place in range(8):
            infer(address, f"{number}.{place}")
        infer(address, f"{number} with a context", traceparent=PARENT)
        infer(address, f"{number}.8")
        infer(address, f"{number}.9")
        settings.change(rate=1, level="TIMESTAMPS", count=-1)
        infer(address, f"{number} last")
        ids = received(watch, f"{number} last")
        found.append([each for each in ids if each.startswith(f"{number}")])
    return found


def refusal(address: str) -> list[str]:
    """Return the texts for settings that are invalid while a level is set."""
    texts = []
    for name in ("trace_rate", "trace_count"):
        body = json.dumps({"trace_level": ["TIMESTAMPS"], name: "0"})
        connection = http.client.HTTPConnection(address, timeout=60)
        connection.request("POST", "/v2/trace/setting", body)
        texts.append(connection.getresponse().read().decode())
        connection.close()
    return texts


def received(watch: Watch, last: str) -> list[str]:
    """Return the ids of all received requests, once the last one is there."""

    def ids() -> list[str]:
        return sorted(each.request_id for each in watch.requests)

    assert waiting.until(lambda: last in ids())
    return ids()


def infer(address: str, request_id: str, **headers: str) -> None:
    """Send a request over HTTP."""
    tensor = {"name": "X", "datatype": "FP32", "shape": [1], "data": [1]}
    body = json.dumps({"id": request_id, "inputs": [tensor]})
    connection = http.client.HTTPConnection(address, timeout=60)
    try:
        connection.request("POST", "/v2/models/double/infer", body, headers)
        assert 200 == connection.getresponse().status
    finally:
        connection.close()


def test_the_same_requests_are_sent_as_by_a_real_server(real):
    """By rate, count and level, which clients change; contexts are always sent."""
    real_address = real.url.removeprefix("http://")
    expected = sampled(real_address, real.watch)
    setting = TraceSetting(trace_mode="opentelemetry", collector=(("url", "x"),))
    with receive(port=0) as watch, Server(otlp=watch.receiver.url()) as server:
        server.define("double", DOUBLE, config=CONFIG)
        with serve(
            server,
            http=0,
            grpc=None,
            metrics=None,
            options=ServingOptions(trace=setting),
        ) as ends:
            address = ends.addresses["HTTP"]
            found = sampled(address, watch)
            refusals = [refusal(each) for each in (real_address, address)]

    assert expected == found
    assert refusals[0] == refusals[1]
    contexts = [f"1 {each}" for each in ("context at first", "last", "with a context")]
    assert [*contexts, "1.0", "1.2", "1.4"] == expected[1]
