"""Quick requests of many connections share a thread; others have their own."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import pytest
import stage
from cells import CONFIG, DOUBLE, cell, instances

from blsnb.inference_server import Server
from blsnb.parts.server_parts import parts_of
from blsnb.serving.core.shared_state import SharedState
from blsnb.serving.http.connections import shared_thread
from blsnb.serving.http.connections.shared_thread import QuickModels
from blsnb.serving.http.endpoint import HttpEndpoint

from ..over_http import SLEEPER, WAIT_S
from ..test_plain_connection import all_of, received, sent

CONNECTIONS, TIMES = 4, 5
PROMPT_S = WAIT_S / 2
"""Maximum seconds of a response: before a sleeping model wakes up by itself."""
QUICK_S, SLOW_S = 0.0001, 0.02
NOTING = cell(
    """
    stage.seen.append(threading.get_ident())
    return [reply(x_of(request))]
    """
)
MEETING = cell(
    """
    stage.seen.append(threading.get_ident())
    while len(set(stage.seen)) < 2:
        time.sleep(0.001)
    return [reply(x_of(request))]
    """
)


@contextlib.contextmanager
def clients(port: int, count: int) -> Iterator[list[socket.socket]]:
    """Several connections."""
    with contextlib.ExitStack() as opened:
        yield [
            opened.enter_context(
                socket.create_connection(("127.0.0.1", port), PROMPT_S)
            )
            for _ in range(count)
        ]


def answered(client: socket.socket, model: str) -> None:
    """Send a request and receive its response."""
    client.sendall(sent(model))
    assert b"200 OK" in received(client, b'"data":[', 1)


def alternating(port: int, model: str) -> set[int]:
    """Return the threads of a model for requests of connections that alternate."""
    with clients(port, CONNECTIONS) as opened:
        for _ in range(TIMES):
            for client in opened:
                answered(client, model)
    return set(stage.seen)


@contextlib.contextmanager
def other_request(server: Server, port: int) -> Iterator[None]:
    """A request beside others: the connections that are used are not alone."""
    server.define("slow", SLEEPER, config=CONFIG)
    with clients(port, 1) as (client,):
        client.sendall(sent("slow"))
        assert stage.events["asleep"].wait(WAIT_S)
        yield
        stage.events["end"].set()
        assert b"200 OK" in received(client, b'"data":[', 1)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine makes no thread give up."""
    monkeypatch.setattr(shared_thread, "_LINGER_S", 0.5)
    monkeypatch.setattr(shared_thread, "_LONG_S", WAIT_S)
    monkeypatch.setattr(shared_thread, "_QUICK_S", WAIT_S)


@pytest.mark.usefixtures("patient")
def test_one_thread_serves_the_connections_of_a_quick_model(http_served: Any) -> None:
    """No request needs a switch of threads."""
    http_served.server.define("noting", NOTING, config=CONFIG)
    with other_request(http_served.server, http_served.end.port):
        assert 1 == len(alternating(http_served.end.port, "noting"))


@pytest.mark.usefixtures("patient")
def test_a_connection_that_stays_alone_has_a_thread_of_its_own(
    http_served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That is faster for one client."""
    monkeypatch.setattr(shared_thread, "_LINGER_S", WAIT_S)
    idle = http_served.end.state.idle
    http_served.server.define("double", DOUBLE, config=CONFIG)
    with clients(http_served.end.port, 1) as (client,):
        with other_request(http_served.server, http_served.end.port):
            answered(client, "double")
            assert idle.is_shared
        for _ in range(2 * shared_thread._ALONE):
            answered(client, "double")

    assert not idle.is_shared


@pytest.mark.usefixtures("patient")
def test_two_instances_run_side_by_side(http_served: Any) -> None:
    """Each on a thread of its own."""
    http_served.server.define("meeting", MEETING, config=instances(2))
    with clients(http_served.end.port, 2) as both:
        for client in both:
            client.sendall(sent("meeting"))
        first, second = (received(client, b'"data":[', 1) for client in both)

    assert b"200 OK" in first
    assert b"200 OK" in second


def test_a_model_that_sleeps_delays_no_other_connection(http_served: Any) -> None:
    """Another thread waits for requests then, and the sleeper's is answered."""
    http_served.server.define("double", DOUBLE, config=CONFIG)
    http_served.server.define("slow", SLEEPER, config=CONFIG)
    with clients(http_served.end.port, 3) as (first, second, third):
        answered(first, "double")
        second.sendall(sent("slow"))
        assert stage.events["asleep"].wait(WAIT_S)
        for _ in range(TIMES):
            answered(first, "double")
            answered(third, "double")
        stage.events["end"].set()

        assert b"200 OK" in received(second, b'"data":[', 1)
        answered(second, "double")


def test_a_request_in_parts_delays_no_other_connection(http_served: Any) -> None:
    """Nor does the end of a connection."""
    http_served.server.define("double", DOUBLE, config=CONFIG)
    whole = sent("double")
    with clients(http_served.end.port, 3) as (first, second, third):
        for cut in (10, len(whole) - 1):
            answered(first, "double")
            second.sendall(whole[:cut])
            answered(first, "double")
            second.sendall(whole[cut:])
            assert b"200 OK" in received(second, b'"data":[', 1)
        third.shutdown(socket.SHUT_WR)
        assert b"" == all_of(third)
        answered(first, "double")


@pytest.mark.usefixtures("patient")
def test_the_connection_that_was_served_last_is_kept(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new one at the limit replaces the one that has been idle longest."""
    server.define("double", DOUBLE, config=CONFIG)
    monkeypatch.setattr("blsnb.serving.ports._MAX_CONNECTIONS", 3)
    end = HttpEndpoint(parts_of(server), SharedState(parts_of(server)), "127.0.0.1", 0)
    try:
        with other_request(server, end.port), clients(end.port, 2) as (first, second):
            for client in (first, second, first):
                answered(client, "double")
            with clients(end.port, 1) as (third,):
                answered(third, "double")
                assert b"" == all_of(second)
                answered(first, "double")
    finally:
        end.close(1)


def test_a_request_that_a_shared_thread_runs_is_completed_at_the_end(
    http_served: Any,
) -> None:
    """The port waits for it."""
    http_served.server.define("slow", SLEEPER, config=CONFIG)
    with clients(http_served.end.port, 1) as (client,):
        client.sendall(sent("slow"))
        assert stage.events["asleep"].wait(WAIT_S)
        stage.events["end"].set()
        http_served.end.close(WAIT_S)

        assert b"200 OK" in all_of(client)


@pytest.mark.usefixtures("patient")
def test_each_request_of_a_shared_thread_is_measured(
    http_served: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A model that becomes slow must not delay the others for long."""
    noted: list[str] = []
    monkeypatch.setattr(QuickModels, "note", lambda _, model, __: noted.append(model))
    http_served.server.define("noting", NOTING, config=CONFIG)
    with other_request(http_served.server, http_served.end.port):
        alternating(http_served.end.port, "noting")

    assert ["noting"] * len(stage.seen) == noted


def test_a_model_is_slow_after_some_slow_requests() -> None:
    """Not after four: a busy machine delays single requests, and they are clipped."""
    models = QuickModels()
    for _ in range(4):
        models.note("model", SLOW_S)
    assert models.is_quick("model")

    models.note("model", SLOW_S)
    assert not models.is_quick("model")
    assert models.is_quick("other")
    for _ in range(100):
        models.note("other", 0.001)
    assert models.is_quick("other")


def test_a_model_that_became_quick_counts_as_quick_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is measured again after a pause, which doubles as long as it is slow."""
    now_s = 0.0
    monkeypatch.setattr(shared_thread.time, "monotonic", lambda: now_s)
    models = QuickModels()

    def has_pause(pause_s: float) -> bool:
        nonlocal now_s
        while models.is_quick("model"):
            models.note("model", SLOW_S)
        now_s += 0.99 * pause_s
        was_quick = models.is_quick("model")
        now_s += 0.02 * pause_s
        return models.is_quick("model") and not was_quick

    pauses = [0.1 * 2**number for number in range(10)]
    assert [True] * 13 == [has_pause(each) for each in [*pauses, 64.0, 64.0, 64.0]]

    for _ in range(4):
        models.note("model", QUICK_S)
    assert models.is_quick("model")
    assert has_pause(64.0 * (15 / 16) ** 4)
