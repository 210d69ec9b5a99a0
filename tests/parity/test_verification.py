"""A comparison with an imitated real server."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from blsnb.errors import InputError
from blsnb.parity import verification
from blsnb.parity.triton.outcome import (
    NO_RESPONSE,
    WOULD_HANG,
    ClientFailure,
    ClientOutcome,
    ClientResponse,
)
from blsnb.parity.verification import time_limit
from blsnb.pb_utils.message import RequestMessage


class Silent:
    """A real server that never responds, and its client."""

    def __init__(self) -> None:
        self.notes: list[str] = []
        self.received: list[str] = []

    def folders(self) -> tuple[()]:
        return ()

    def traces(self) -> tuple[()]:
        return ()

    @contextmanager
    def serving(self, model_name: str, called: object) -> Iterator[Silent]:
        yield self

    def version(self) -> str:
        return "2.51.0"

    def send(
        self, message: RequestMessage, seconds: float, **_: object
    ) -> ClientOutcome:
        self.received.append(message.model_name)
        failure = ClientFailure(NO_RESPONSE, f"no response within {seconds:g} s")
        return ClientOutcome((ClientResponse(failure=failure),), 1)


@pytest.mark.parametrize(("others", "name"), [(0, ""), (1, "case 2: ")])
def test_an_input_that_does_not_convert_is_refused_with_its_case(
    ours, monkeypatch, others, name
):
    """Neither server receives anything."""
    silent = Silent()
    monkeypatch.setattr(verification, "target_of", lambda *_, **__: silent)
    cases = [{"inputs": {"X": [1.0]}}] * others + [{"inputs": {"X": ["one"]}}]
    with pytest.raises(InputError, match=f"^{name}input 'X'"):
        ours.compare("sine", cases=cases, target="grpc://imitated")

    assert [] == silent.received


def test_nothing_is_sent_after_a_missing_response(ours, monkeypatch):
    """The request may occupy the only instance; a note counts the further cases."""
    silent = Silent()
    monkeypatch.setattr(verification, "target_of", lambda *_, **__: silent)
    cases = [{"inputs": {"X": [number]}} for number in (1.0, 2.0, 3.0)]
    parity = ours.compare("sine", cases=cases, target="grpc://imitated", timeout_s=5)

    assert ["sine"] == silent.received
    assert ["2 further cases were not sent to the real server"] == list(parity.notes)
    [case] = parity.cases
    assert ["no response within 5 s"] == [each.expected for each in case.checks]


@pytest.mark.parametrize(
    ("client_s", "hangs", "limit_s", "expected"),
    [
        (None, False, 60.0, (60.0, False)),
        (60.0, False, 60.0, (60.0, True)),
        (61.0, False, 60.0, (60.0, False)),
        (0.5, True, 60.0, (0.5, True)),
        (None, True, 60.0, (10.0, False)),
        (None, True, 9.0, (9.0, False)),
    ],
)
def test_what_hangs_on_blsnb_is_not_waited_for_long(client_s, hangs, limit_s, expected):
    """The client's own time limit counts if it is the shorter one."""
    code = WOULD_HANG if hangs else "INTERNAL"
    response = ClientResponse(failure=ClientFailure(code, "text"))
    answered = ClientOutcome((response,), 1)

    assert expected == time_limit(client_s, answered, limit_s)
    if not hangs:
        assert expected == time_limit(client_s, ClientOutcome((), 1), limit_s)
