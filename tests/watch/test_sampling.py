"""Which requests a Collector receives: blsnb beside a real server."""

from __future__ import annotations

import contextlib
import http.client
import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import waiting
from cells import CONFIG, DOUBLE
from conformance.reference import real_environment
from conformance.triton_target import MORTAL

from blsnb import Server
from blsnb.command.serve import flags
from blsnb.command.server_options import server_arguments, serving_options
from blsnb.parity.triton.server_process import TritonServer
from blsnb.serving.core.serving_options import ServingOptions
from blsnb.serving.core.trace_settings import TraceSetting
from blsnb.serving.endpoints import serve
from blsnb.watch.trace_settings import RemoteTraceSettings
from blsnb.watch.watch import Watch, receive, server_flags

from .conftest import write

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


def from_start(address: str, watch: Watch) -> list[object]:
    """Return the ids and counts under the settings of the start, then with all on."""
    settings = RemoteTraceSettings(f"http://{address}")
    counts = [settings.read()["trace_count"]]
    for place in range(4):
        infer(address, f"{place}")
    infer(address, "with a context", traceparent=PARENT)
    counts.append(settings.read()["trace_count"])
    settings.change(rate=1, level="TIMESTAMPS", count=-1)
    infer(address, "last")
    return [received(watch, "last"), *counts]


@contextlib.contextmanager
def real_address(words: list[str], folder: Path) -> Iterator[str]:
    """Start a real server with options."""
    write(folder / "models")
    words = [*MORTAL, "--load-model=double", *words]
    server = TritonServer(real_environment(), folder / "models", folder / "log", words)
    try:
        yield f"127.0.0.1:{server.http_port}"
    finally:
        server.kill()


@contextlib.contextmanager
def our_address(words: list[str]) -> Iterator[str]:
    """Start one of ours, as the command does."""
    given = flags().parse_args(["models", *words])
    with Server(**server_arguments(given)) as server:
        server.define("double", DOUBLE, config=CONFIG)
        options = serving_options(given)
        with serve(server, http=0, grpc=None, metrics=None, options=options) as ends:
            yield ends.addresses["HTTP"]


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ("count=0", [["last", "with a context"], "0", "0"]),
        ("config=rate=3 count=1", [["2", "last", "with a context"], "1", "0"]),
        ("config=rate=-1 level=OFF count=-2", [["last"], "-2", "-2"]),
    ],
)
def test_settings_at_the_start_have_the_effect_of_a_real_server(
    settings, expected, tmp_path
):
    """Contexts are sent also without a count; what is left of it is reported."""
    options = [f"--trace-{each}" for each in settings.split()]
    found = []
    for start in (partial(real_address, folder=tmp_path), our_address):
        with (
            receive(port=0) as watch,
            start([*server_flags(watch.receiver.url()), *options]) as address,
        ):
            found.append(from_start(address, watch))

    assert [expected, expected] == found


def test_the_same_requests_are_sent_as_by_a_real_server(real):
    """By rate, count and level, which clients change; contexts are always sent."""
    address_of_real = real.url.removeprefix("http://")
    expected = sampled(address_of_real, real.watch)
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
            refusals = [refusal(each) for each in (address_of_real, address)]

    assert expected == found
    assert refusals[0] == refusals[1]
    contexts = [f"1 {each}" for each in ("context at first", "last", "with a context")]
    assert [*contexts, "1.0", "1.2", "1.4"] == expected[1]
