"""The choice of the connection to close for a new one."""

from __future__ import annotations

import pytest

from blsnb.serving.http.connections.limited_server import STALLED_S, Connections


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
