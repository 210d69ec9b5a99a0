"""Connections of plain requests, without tornado: many requests, faults, ends."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from typing import Any

import pytest
import stage
from asserting import every
from cells import CONFIG, DOUBLE, cell
from waiting import until

from blsnb.errors import OutOfResourcesError
from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.http.connections.plain_head import MAX_BODY_BYTES
from blsnb.serving.http.endpoint import HttpEndpoint
from blsnb.serving.http.exchange import PortState
from blsnb.serving.http.plain_connection import PlainConnection

from .over_http import BODY, SLEEPER, WAIT_S, head

PATH = "/v2/models/double/infer"
AHEAD = 800
"""Requests sent ahead: more than calls that Python nests."""
LARGE = 1 << 25
"""Size of a response that no socket holds."""
WIDE = cell(
    f"""
    import numpy
    return [reply(numpy.zeros({LARGE // 4}, numpy.float32))]
    """
)
WANTED = {"name": "Y", "parameters": {"binary_data": True}}


def sent(model: str, **more: Any) -> bytes:
    """Return a plain request."""
    body = json.dumps({**BODY, **more}).encode()
    return head(len(body), f"/v2/models/{model}/infer") + body


def received(client: socket.socket, mark: bytes, count: int) -> bytes:
    """Return what was received until a mark came some times, or the end."""
    found = b""
    while found.count(mark) < count and (data := client.recv(1 << 16)):
        found += data
    return found


def all_of(client: socket.socket) -> bytes:
    """Return what comes before the end of a connection."""
    found = bytearray()
    with contextlib.suppress(ConnectionResetError):
        while data := client.recv(1 << 20):
            found += data
    return bytes(found)


@pytest.mark.parametrize("size", [MAX_BODY_BYTES, MAX_BODY_BYTES + 1])
def test_a_body_of_the_maximum_size_is_served(http_served: Any, size: int) -> None:
    """A larger one, too; so is the next request of the connection."""
    http_served.server.define("double", DOUBLE, config=CONFIG)
    body = json.dumps(BODY).encode().ljust(size)
    with http_served.connect() as client:
        client.sendall(head(size) + body + sent("double"))

        assert 2 == received(client, b'"data":[2.0]', 2).count(b"HTTP/1.1 200 OK")


def test_requests_of_both_kinds_share_a_connection(http_served: Any) -> None:
    """A plain request, one in chunks, and a plain one are answered in order."""
    http_served.server.define("double", DOUBLE, config=CONFIG)
    body = json.dumps(BODY).encode()
    start = head(0).replace(b"Content-Length: 0", b"Transfer-Encoding: chunked")
    chunks = b"%x\r\n%b\r\n0\r\n\r\n" % (len(body), body)
    with http_served.connect() as client:
        client.sendall(sent("double", id="a") + start + chunks + sent("double", id="b"))
        found = received(client, b'"data":[2.0]', 3)

    assert 3 == found.count(b"HTTP/1.1 200 OK")
    assert 0 < found.index(b'"id":"a"') < found.index(b'"id":"b"')


def test_requests_before_the_end_of_a_half_are_answered(http_served: Any) -> None:
    """All of them; then the connection ends."""
    http_served.server.define("double", DOUBLE, config=CONFIG)
    with http_served.connect() as client:
        client.sendall(sent("double") * 3)
        client.shutdown(socket.SHUT_WR)

        assert 3 == all_of(client).count(b"HTTP/1.1 200 OK")


def test_requests_sent_ahead_are_refused_one_by_one(
    http_served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without threads each gets an error."""

    def refused(*given: object, continued: bool = False) -> None:
        raise OutOfResourcesError("no thread can be started")

    monkeypatch.setattr(http_served.end.state.threads, "run", refused)
    with http_served.connect() as client:
        client.sendall(head(0) * AHEAD)
        found = received(client, b'{"error":"no thread can be started"}', AHEAD)

    assert AHEAD == found.count(b"HTTP/1.1 503 ")


@pytest.mark.parametrize("shared", [False, True])
def test_a_fault_ends_the_connection(
    http_served: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    shared: bool,
) -> None:
    """Its client gets the end at once, no request counts as running, it is logged."""
    # The thread may be one that serves other connections, too.

    def failing(response: object) -> bytes:
        raise MemoryError

    monkeypatch.setattr("blsnb.serving.http.plain_connection._head_of", failing)
    monkeypatch.setattr(PlainConnection, "_is_shared", lambda *_: shared)
    with http_served.connect() as client:
        client.sendall(head(0))

        assert b"" == all_of(client)
    assert until(lambda: not http_served.end.state.responding)
    assert [f"{PATH} failed"] == caplog.messages


def test_a_fault_before_a_shared_request_is_logged_with_its_path(
    http_served: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """Its client gets the end at once."""
    taken = []
    take = PlainConnection._take_request

    def failing(connection: PlainConnection) -> None:
        taken.append(True)
        if len(taken) > 1:
            raise MemoryError
        take(connection)

    monkeypatch.setattr("blsnb.serving.http.connections.shared_thread._LINGER_S", 1.0)
    monkeypatch.setattr(PlainConnection, "_is_shared", lambda *_: True)
    monkeypatch.setattr(PlainConnection, "_take_request", failing)
    with http_served.connect() as client:
        client.sendall(head(0))
        received(client, b"}", 1)
        client.sendall(head(0))

        assert b"" == all_of(client)
    assert [f"{PATH} failed"] == caplog.messages


def test_an_idle_connection_keeps_no_body(http_served: Any) -> None:
    """Many of them would take much memory."""
    http_served.server.define("double", DOUBLE, config=CONFIG)
    with http_served.connect() as client:
        client.sendall(sent("double"))
        received(client, b'"data":[2.0]', 1)
        (connection,) = http_served.end.state.plain

        assert until(lambda: b"" == connection._request.body)


class Busy:
    """A connection that receives one request after the other."""

    def cancel(self) -> None:
        """Do nothing."""

    def drop(self) -> None:
        """Report a fault."""
        raise AssertionError("a request that has just begun was dropped")

    close = drop


def test_a_request_does_not_count_as_the_one_before_it(http_served: Any) -> None:
    """Only a request that is incomplete at two checks is dropped."""
    known = http_served.end.state
    port = PortState(known.router, known.threads, known.loop, keeps_headers=False)
    busy = Busy()
    for _ in range(3):
        port.begin_reading(busy, busy)
        port.drop_stalled(WAIT_S)
        port.begin_response(busy, busy)
        port.end_response(busy)

    assert not port.responding


def test_the_client_of_a_model_that_hangs_gets_the_end(http_served: Any) -> None:
    """The port closes, and with it the connection."""
    http_served.server.define("slow", SLEEPER, config=CONFIG)
    with http_served.connect() as client:
        client.sendall(sent("slow"))
        assert stage.events["asleep"].wait(WAIT_S)
        http_served.end.close(0.1)

        assert b"" == all_of(client)
        stage.events["end"].set()


def test_a_client_that_does_not_read_delays_no_end(http_served: Any) -> None:
    """It gets a part of its response."""
    http_served.server.define("wide", WIDE, config=CONFIG)
    with http_served.connect() as client:
        client.sendall(sent("wide", outputs=[WANTED]))
        received(client, b"HTTP/1.1 200 OK", 1)
        state = http_served.end.state
        assert until(lambda: not state.responding)
        closing = threading.Thread(target=http_served.end.close, args=(WAIT_S,))
        closing.start()
        closing.join(WAIT_S / 2)

        assert not closing.is_alive()
        assert LARGE > len(all_of(client))


def test_a_slow_reader_is_not_idle(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new connection at the limit replaces another one; the response is complete."""
    server.define("wide", WIDE, config=CONFIG)
    monkeypatch.setattr("blsnb.serving.ports._MAX_CONNECTIONS", 2)
    end = HttpEndpoint(parts_of(server), SharedState(parts_of(server)), "127.0.0.1", 0)
    address = ("127.0.0.1", end.port)
    try:
        with contextlib.ExitStack() as opened:

            def connected() -> socket.socket:
                return opened.enter_context(socket.create_connection(address, WAIT_S))

            reader = connected()
            reader.sendall(sent("wide", outputs=[WANTED]))
            begin = received(reader, b"\r\n\r\n", 1)
            assert until(lambda: not end.state.responding)
            others = [connected() for _ in range(3)]
            assert every(b"" == all_of(each) for each in others[:2])
            reader.shutdown(socket.SHUT_WR)

            assert LARGE < len(begin) + len(all_of(reader))
    finally:
        end.close(1)
