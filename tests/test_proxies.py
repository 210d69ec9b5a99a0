"""Addresses of this machine are reached without the proxy of the environment."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from cells import CONFIG, DOUBLE
from collector import collecting

import blsnb
from blsnb.serving.endpoints import Endpoints, serve
from blsnb.watch.remote_readings import RemoteReadings

X = {"X": [1.0]}


@pytest.fixture
def endpoints(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoints]:
    """The ports of a server; nothing listens at the proxy."""
    for name in ("http_proxy", "HTTP_PROXY", "grpc_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    for name in ("no_proxy", "NO_PROXY", "no_grpc_proxy"):
        monkeypatch.delenv(name, raising=False)
    with blsnb.Server() as server:
        server.define("m", DOUBLE, config=CONFIG)
        with serve(server, http=0, grpc=0, metrics=None) as found:
            yield found


@pytest.fixture
def client() -> Iterator[blsnb.Server]:
    """A server with the same model."""
    with blsnb.Server() as server:
        server.define("m", DOUBLE, config=CONFIG)
        yield server


def readings(client: blsnb.Server, http: str, grpc: str) -> object:
    return [each.state for each in RemoteReadings(http).read().versions]


def stand_in(client: blsnb.Server, http: str, grpc: str) -> object:
    client.standin("m", remote=grpc)
    return client.infer("m", X)["Y"].tolist()


def evaluated(client: blsnb.Server, http: str, grpc: str) -> object:
    return client.evaluate("m", [X], server_url=grpc).outputs["Y"][0].tolist()


def compared(client: blsnb.Server, http: str, grpc: str) -> object:
    return client.compare("m", X, target=grpc).agree


def exported(client: blsnb.Server, http: str, grpc: str) -> object:
    with collecting() as collector:
        return client.infer("m", X).export_otlp(collector.url)


@pytest.mark.parametrize(
    ("door", "expected"),
    [
        (readings, ["READY"]),
        (stand_in, [2.0]),
        (evaluated, [2.0]),
        (compared, True),
        (exported, 3),
    ],
)
def test_this_machine_needs_no_proxy(
    endpoints: Endpoints,
    client: blsnb.Server,
    door: Callable[[blsnb.Server, str, str], object],
    expected: object,
) -> None:
    """A proxy reaches other machines only, and rarely this one."""
    addresses = endpoints.addresses
    http, grpc = f"http://{addresses['HTTP']}", f"grpc://{addresses['gRPC']}"

    assert expected == door(client, http, grpc)
