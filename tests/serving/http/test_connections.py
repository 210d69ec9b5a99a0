"""Accepted connections, and the choice of the one to close for a new one."""

from __future__ import annotations

import errno
from unittest.mock import Mock, call

import pytest

from blsnb.serving.http.connections.limited_server import (
    STALLED_S,
    Connections,
    HttpServer,
)


@pytest.fixture
def three() -> Connections[str]:
    """Three connections, idle since seconds 0, 1 and 2."""
    connections: Connections[str] = Connections(3)
    for second, name in enumerate("abc"):
        connections.idle(name, second)
    return connections


def test_the_limit_counts_every_connection(three: Connections[str]) -> None:
    """Idle, reading and responding connections count."""
    three.reading("a", 3)
    three.responding("b")

    assert three.is_full
    three.remove("c")
    assert not three.is_full
    three.idle("c", 4)
    assert three.is_full
    assert 3 == len(three)


def test_connections_idle_since_a_time_are_known(three: Connections[str]) -> None:
    """Those that wait as long or longer; not those with a request."""
    three.responding("a")
    three.reading("d", 0)

    assert (["b"], ["b", "c"], []) == (
        three.idle_since(1),
        three.idle_since(2),
        three.idle_since(0.9),
    )
    assert 4 == len(three)


def test_the_connection_that_has_been_idle_longest_is_chosen(
    three: Connections[str],
) -> None:
    """The time counts from the end of its last request."""
    three.responding("a")
    three.idle("a", 5)

    assert "b" == three.least_needed(6)


def test_a_connection_with_a_request_in_flight_is_kept(three: Connections[str]) -> None:
    """The duration does not matter."""
    for name in "abc":
        three.responding(name)

    assert three.least_needed(1e9) is None


def test_an_incomplete_request_keeps_its_connection_for_a_while(
    three: Connections[str],
) -> None:
    """The time counts from its last byte; idle connections are closed first."""
    for name in "abc":
        three.reading(name, 3)
    three.reading("a", 4)

    assert three.least_needed(3 + STALLED_S - 0.1) is None
    assert "b" == three.least_needed(3 + STALLED_S)
    three.idle("c", 5)
    assert "c" == three.least_needed(3 + STALLED_S)


@pytest.fixture
def accepting() -> tuple[HttpServer, Mock, Mock]:
    """A server that accepts, its port and its loop."""
    server, port, loop = HttpServer(lambda request: None), Mock(), Mock()
    server.begin, server.settle = Mock(), Mock()
    server.accept_on(port, loop)
    return server, port, loop


def accept(loop: Mock) -> None:
    """Tell a server that its port is readable."""
    _, callback, *arguments = loop.add_reader.call_args.args
    callback(*arguments)


def test_a_flood_of_connections_leaves_time_for_others(
    accepting: tuple[HttpServer, Mock, Mock],
) -> None:
    """Connections are accepted in portions, except those that clients gave up."""
    server, port, loop = accepting
    port.accept.side_effect = [ConnectionAbortedError, *[("c", "a")] * 200]
    accept(loop)

    assert [call("c", "a")] * 127 == server.begin.call_args_list


@pytest.mark.parametrize("is_idle", [True, False])
def test_without_a_descriptor_a_connection_is_closed_or_the_port_pauses(
    accepting: tuple[HttpServer, Mock, Mock], is_idle: bool
) -> None:
    """An idle connection gives its descriptor to the new one."""
    server, port, loop = accepting
    port.accept.side_effect, connection = OSError(errno.EMFILE, "none"), Mock()
    if is_idle:
        server.connections.idle(connection, 0)
    accept(loop)

    pauses = [] if is_idle else [call(0.2, server.accept_on, port, loop)]
    assert pauses == loop.call_later.call_args_list
    assert [call(port)] * len(pauses) == loop.remove_reader.call_args_list
    assert [call()] * is_idle == connection.close.call_args_list
    assert 0 == len(server.connections)


def test_another_error_of_accepting_is_not_hidden(
    accepting: tuple[HttpServer, Mock, Mock],
) -> None:
    """The loop reports it."""
    _, port, loop = accepting
    port.accept.side_effect = OSError(errno.EINVAL, "closed")

    with pytest.raises(OSError, match="closed"):
        accept(loop)


def test_a_port_that_is_closed_in_its_pause_stays_closed(
    accepting: tuple[HttpServer, Mock, Mock],
) -> None:
    """Its number may belong to another file by then."""
    server, port, loop = accepting
    port.accept.side_effect = OSError(errno.EMFILE, "none")
    accept(loop)
    _, again, *arguments = loop.call_later.call_args.args
    loop.reset_mock()
    server.close_port(port, loop)
    again(*arguments)

    assert [call.remove_reader(port)] == loop.method_calls
    assert [call()] == port.close.call_args_list
