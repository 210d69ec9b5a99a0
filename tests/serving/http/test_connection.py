"""Connections of the HTTP end point: requests, faults, ends."""

from __future__ import annotations

import contextlib
import json
import re
import resource
import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
import stage
from asserting import every, some
from cells import CONFIG, DOUBLE
from waiting import until

from blsnb.errors import OutOfResourcesError
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.http.endpoint import HttpEndpoint

from ..conftest import body_of
from .over_http import BODY, SLEEPER, WAIT_S, head, streaming

IDLE = 1000


def test_a_connection_serves_many_requests(http_served: Any) -> None:
    """They may be sent before the responses."""
    http_served.server.define("double", DOUBLE, config=CONFIG)
    body = json.dumps(BODY).encode()
    with http_served.connect() as client:
        client.sendall((head(len(body)) + body) * 3)
        found = b""
        while found.count(b"outputs") < 3:
            found += client.recv(1 << 16)

    assert 3 == found.count(b"HTTP/1.1 200 OK")


def test_a_body_may_be_chunked(http_served: Any) -> None:
    """Chunks may have any size."""
    http_served.server.define("double", DOUBLE, config=CONFIG)
    body = json.dumps(BODY).encode()
    start = head(0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    chunks = b"".join(b"1\r\n%c\r\n" % byte for byte in body) + b"0\r\n\r\n"
    with http_served.connect() as client:
        client.sendall(start + chunks)

        assert client.recv(100).startswith(b"HTTP/1.1 200 OK")


def test_a_client_that_disconnects_within_a_body_leaves_nothing(
    http_served: Any,
) -> None:
    """Neither a run nor a thread remains."""
    http_served.server.define("double", DOUBLE, config=CONFIG)
    with http_served.connect() as client:
        client.sendall(head(1000) + b'{"inputs":')

    assert 200 == http_served.infer("double", [1])[0]
    assert 1 == len(http_served.server.runs)


def test_a_client_that_disconnects_before_the_response_cancels_nothing(
    http_served: Any,
) -> None:
    """The model continues and cannot notice it, as on Triton."""
    http_served.server.define("slow", SLEEPER, config=CONFIG)
    body = json.dumps(BODY).encode()
    with http_served.connect() as client:
        client.sendall(head(len(body), "/v2/models/slow/infer") + body)
        assert stage.events["asleep"].wait(WAIT_S)
    # Whoever answers this has seen the other connection end.
    assert [200, 200] == [http_served.ask("/v2/health/live")[0] for _ in range(2)]

    assert not stage.values["request"].is_cancelled()
    stage.events["end"].set()
    rows = parts_of(http_served.server).engine.catalog.statistics
    assert until(
        lambda: int(rows("slow")[0]["inference_stats"]["success"]["count"]) == 1
    )


def test_pipelined_requests_are_answered_in_order(http_served: Any) -> None:
    """Their number does not matter."""
    http_served.server.define("double", DOUBLE, config=CONFIG)
    bodies = [json.dumps(body_of([n])).encode() for n in range(400)]
    with http_served.connect() as client:
        path = "/v2/models/double/infer"
        sent = b"".join(head(len(body), path) + body for body in bodies)
        sending = threading.Thread(target=client.sendall, args=(sent,))
        sending.start()
        found = b""
        while found.count(b"HTTP/1.1 200 OK") < len(bodies) or not found.endswith(b"}"):
            found += client.recv(1 << 16)
        sending.join(WAIT_S)

    values = re.findall(rb'"data":\[([0-9.]+)\]', found)
    assert [2.0 * n for n in range(400)] == list(map(float, values))


@contextlib.contextmanager
def impatient(monkeypatch: pytest.MonkeyPatch, server: Server) -> Iterator[Any]:
    """A port that drops incomplete requests after a moment."""
    monkeypatch.setattr("blsnb.serving.http.endpoint._PATIENCE_S", 0.1)
    end = HttpEndpoint(parts_of(server), SharedState(parts_of(server)), "127.0.0.1", 0)
    try:
        yield end
    finally:
        end.close(1)


@pytest.mark.parametrize(
    "sent", [b"GET /v2 HT", head(10), head(10) + b"12"], ids=["head", "body", "half"]
)
def test_an_incomplete_request_is_dropped(
    server: Server, monkeypatch: pytest.MonkeyPatch, sent: bytes
) -> None:
    """It would hold a file descriptor indefinitely."""
    with (
        impatient(monkeypatch, server) as end,
        socket.create_connection(("127.0.0.1", end.port), timeout=WAIT_S) as client,
    ):
        client.sendall(sent)

        assert is_dropped(client)


def test_an_idle_connection_is_closed(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also before its first request."""
    with (
        impatient(monkeypatch, server) as end,
        socket.create_connection(("127.0.0.1", end.port), timeout=WAIT_S) as client,
    ):
        assert is_dropped(client)


def is_dropped(client: socket.socket) -> bool:
    """Wait until the other side closes a connection."""
    try:
        return client.recv(1) == b""
    except ConnectionResetError:
        return True


def test_a_head_that_is_too_long_ends_the_connection(http_served: Any) -> None:
    """There is no response, as on Triton; the next client is served."""
    with http_served.connect() as client:
        with contextlib.suppress(ConnectionError):
            client.sendall(b"GET /v2 HTTP/1.1\r\nA: " + b"x" * (1 << 20))
        assert is_dropped(client)

    assert 200 == http_served.ask("/v2")[0]


def test_connections_are_limited(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new one replaces the one that has been idle longest."""
    monkeypatch.setattr("blsnb.serving.ports._MAX_CONNECTIONS", 3)
    end = HttpEndpoint(parts_of(server), SharedState(parts_of(server)), "127.0.0.1", 0)
    try:
        with contextlib.ExitStack() as stack:
            found = [
                stack.enter_context(
                    socket.create_connection(("127.0.0.1", end.port), timeout=WAIT_S)
                )
                for _ in range(4)
            ]
            assert is_dropped(found[0])
            for each in some(found[1:]):
                each.sendall(b"GET /v2/health/live HTTP/1.1\r\n\r\n")
                assert each.recv(100).startswith(b"HTTP/1.1 200 OK")
    finally:
        end.close(1)


def test_events_are_sent_one_by_one(http_served: Any) -> None:
    """Each as soon as the model has sent it."""
    with streaming(http_served) as client:
        assert [0] == stage.seen
        stage.events["go 0"].set()
        assert b'"Y":1.0' in client.recv(1 << 16)
        assert [0, 1] == stage.seen


def test_a_client_that_leaves_a_stream_cancels_it(http_served: Any) -> None:
    """The model can check that; the thread that waited is free."""
    with streaming(http_served):
        pass

    assert stage.events["cancelled"].wait(WAIT_S)


@pytest.mark.parametrize("first", ["client", "server"])
def test_a_client_leaves_while_the_server_closes(http_served: Any, first: str) -> None:
    """In any order the model is notified, every run ends, and the port is free."""
    server = http_served.server
    closing = threading.Thread(target=http_served.end.close, args=(WAIT_S,))
    with streaming(http_served) as client:
        steps = [client.close, closing.start]
        for step in steps if first == "client" else reversed(steps):
            step()
        closing.join(WAIT_S)

    assert not closing.is_alive()
    assert stage.events["cancelled"].wait(WAIT_S)
    assert until(lambda: every(run.ended for run in parts_of(server).recorder.runs))
    with pytest.raises(ConnectionRefusedError):
        http_served.connect()


def test_a_thousand_idle_connections_cost_no_thread(http_served: Any) -> None:
    """Other clients are served at the same time."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != resource.RLIM_INFINITY and hard < 3 * IDLE:
        pytest.skip("this system allows too few open files")
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, 3 * IDLE), hard))
    http_served.server.define("double", DOUBLE, config=CONFIG)
    http_served.infer("double", [1])
    before = threading.active_count()
    try:
        with contextlib.ExitStack() as opened:
            for number in range(IDLE):
                client = opened.enter_context(http_served.connect())
                if number % 2:
                    client.sendall(head(10))

            assert 200 == http_served.infer("double", [1])[0]
            assert before == threading.active_count()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_body_beyond_the_limit_is_refused_before_it_is_sent(http_served: Any) -> None:
    """The connection is closed."""
    with http_served.connect() as client:
        client.sendall(head(2**31))
        found = b"".join(iter(lambda: client.recv(1 << 16), b""))

    assert found.startswith(b"HTTP/1.1 400 Bad Request")
    assert b"\r\nConnection: close\r\n" in found
    assert b'{"error":"the body has 2147483648 bytes, more than 2147483647"}' in found


@pytest.mark.parametrize(
    "sent",
    [b"garbage\r\n\r\n", b"GET\r\n\r\n", head(-5), b"\x16\x03\x01\x02\x00\r\n\r\n"],
    ids=["no request", "no path", "no length", "something else"],
)
def test_another_protocol_ends_the_connection(http_served: Any, sent: bytes) -> None:
    """The next one is served."""
    with http_served.connect() as client:
        client.sendall(sent)
        found = b"".join(iter(lambda: client.recv(1 << 16), b""))

    assert found.startswith(b"HTTP/1.1 400 Bad Request\r\n")
    assert 200 == http_served.ask("/v2")[0]


def test_a_stream_without_a_thread_for_long_ends_with_an_error(
    http_served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its client gets the reason, and the model is cancelled."""
    monkeypatch.setattr("blsnb.serving.http.exchange._GIVE_UP_S", 0.2)
    with streaming(http_served) as client:
        threads = http_served.end.state.threads

        def refused(*given: object, continued: bool = False) -> None:
            raise OutOfResourcesError("no thread can be started")

        monkeypatch.setattr(threads, "run", refused)
        stage.events["go 0"].set()
        found = b""
        while not found.endswith(b"0\r\n\r\n"):
            found += client.recv(1 << 16)

    assert b'data: {"error":"no thread can be started"}\n\n' in found
    assert stage.events["cancelled"].wait(WAIT_S)


def test_a_request_that_meets_the_end_of_its_port_ends_with_it(
    http_served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No thread takes it any more: its connection is closed without a response."""

    def ended(*given: object, continued: bool = False) -> None:
        raise RuntimeError("cannot schedule new futures after shutdown")

    monkeypatch.setattr(http_served.end.state.threads, "run", ended)
    sent = b"POST /v2/models/m/infer HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked"
    with http_served.connect() as client:
        client.sendall(sent + b"\r\n\r\n2\r\n{}\r\n0\r\n\r\n")
        found = client.recv(1 << 16)

    assert b"" == found
    assert until(lambda: not http_served.end.state.responding)
