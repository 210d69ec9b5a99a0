"""The socket of a plain connection: what it receives, sends, and leaves unsent."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

import pytest

from blsnb.serving.http.connections.plain_socket import PlainSocket

from ..over_http import WAIT_S
from ..test_plain_connection import all_of

LARGE = bytes(1 << 22)
"""More than the buffers of a connection hold."""


@pytest.fixture
def ends() -> Iterator[tuple[PlainSocket, socket.socket]]:
    """A plain socket and its client."""
    served, client = socket.socketpair()
    with served, client:
        yield PlainSocket(served), client


def test_an_open_connection_may_have_nothing_yet(
    ends: tuple[PlainSocket, socket.socket],
) -> None:
    """That is an error, at once or after some milliseconds; the end is no bytes."""
    plain, client = ends
    with pytest.raises(BlockingIOError):
        plain.receive()
    with pytest.raises(TimeoutError):
        plain.receive_soon()
    client.sendall(b"ab")
    assert b"ab" == plain.receive()
    client.sendall(b"cd")
    assert b"cd" == plain.receive_soon()
    client.close()
    assert (b"", b"") == (plain.receive(), plain.receive_soon())


def test_a_closed_socket_receives_the_end() -> None:
    """The port closes it while a thread still uses it."""
    served, client = socket.socketpair()
    plain = PlainSocket(served)
    client.close()
    served.close()
    assert (b"", b"") == (plain.receive(), plain.receive_soon())
    assert plain.send(memoryview(b"ab"), 0.0) is None
    plain.end()


def test_a_response_is_sent_while_the_client_takes_it(
    ends: tuple[PlainSocket, socket.socket],
) -> None:
    """All of it, as long as it takes something."""
    plain, client = ends
    # The client's thread may have to wait for a processor.
    plain.connection.settimeout(WAIT_S)
    found: list[bytes] = []
    reader = threading.Thread(target=lambda: found.append(all_of(client)))
    reader.start()
    rest = plain.send(memoryview(LARGE), WAIT_S)
    plain.end()
    reader.join()
    assert (rest, len(found[0])) == (b"", len(LARGE))


@pytest.mark.parametrize("for_s", [0.0, WAIT_S])
def test_what_the_client_does_not_take_is_left(
    ends: tuple[PlainSocket, socket.socket], for_s: float
) -> None:
    """The rest of the response, also where it takes nothing at all."""
    plain, client = ends
    rest = plain.send(memoryview(LARGE), for_s)
    assert rest is not None
    again = plain.send(rest, for_s)
    assert again == rest
    client.setblocking(False)
    taken = bytearray()
    with contextlib.suppress(BlockingIOError):
        while True:
            taken += client.recv(1 << 20)
    assert (0 < len(rest) < len(LARGE), len(taken) + len(rest)) == (True, len(LARGE))


def test_a_client_that_left_takes_nothing(
    ends: tuple[PlainSocket, socket.socket],
) -> None:
    """Sending reports that it left."""
    plain, client = ends
    client.close()
    assert plain.send(memoryview(b"ab"), 0.0) is None
