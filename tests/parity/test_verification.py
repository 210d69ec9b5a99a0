"""A comparison with an imitated real server."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from blsnb.errors import InputError, RepositoryError
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
    monkeypatch.setattr(verification, "Remote", lambda _: silent)
    cases = [{"inputs": {"X": [1.0]}}] * others + [{"inputs": {"X": ["one"]}}]
    with pytest.raises(InputError, match=f"^{name}input 'X'"):
        ours.compare("sine", cases=cases, target="grpc://imitated")

    assert [] == silent.received


def test_nothing_is_sent_after_a_missing_response(ours, monkeypatch):
    """The request may occupy the only instance; a note counts the further cases."""
    silent = Silent()
    monkeypatch.setattr(verification, "Remote", lambda _: silent)
    cases = [{"inputs": {"X": [number]}} for number in (1.0, 2.0, 3.0)]
    steps = []
    how = {"target": "grpc://imitated", "timeout_s": 5}
    parity = ours.compare(
        "sine", cases=cases, progress=lambda *step: steps.append(step), **how
    )

    assert ["sine"] == silent.received
    assert ("2 further cases were not sent to the real server",) == parity.notes
    [case] = parity.cases
    assert ["no response within 5 s"] == [each.expected for each in case.checks]

    assert [
        (0.0, "case 1 of 3, on blsnb"),
        (1 / 9, "case 2 of 3, on blsnb"),
        (2 / 9, "case 3 of 3, on blsnb"),
        (3 / 9, "case 1 of 3, on the real server"),
        (1.0, "done"),
    ] == steps
    assert "case 1" == case.name
    one = ours.compare("sine", cases=cases[:2], **how)
    assert ("1 further case was not sent to the real server",) == one.notes


@pytest.mark.parametrize(
    ("changed", "error", "text"),
    [
        (
            {"model_name": "other"},
            RepositoryError,
            "there is no model 'other'; there are: outer, sine, slow, stream. Did you "
            "mean 'outer'?",
        ),
        ({"model_name": 5}, TypeError, "model_name=5 is not valid; expected a string"),
        ({"target": 5}, TypeError, "target=5 is not valid; expected a string"),
        ({"inputs": 5}, TypeError, "inputs=5 is not valid; expected a dict"),
        (
            {"cases": 5},
            TypeError,
            "cases=5 is not valid; expected a file, or a list of requests",
        ),
        ({"atol": -1}, ValueError, "atol=-1 is not valid; expected 0 or more"),
        ({"rtol": -1}, ValueError, "rtol=-1 is not valid; expected 0 or more"),
        (
            {"timeout_s": -1},
            ValueError,
            "timeout_s=-1 is not valid; expected 0 or more",
        ),
        ({"install": 5}, TypeError, "install=5 is not valid; expected True or False"),
        ({"progress": 5}, TypeError, "progress=5 is not valid; expected a function"),
    ],
)
def test_arguments_are_checked_before_anything_is_sent(ours, changed, error, text):
    """An unknown model is refused with the known ones."""
    arguments = {"model_name": "sine", "target": "grpc://a:1", **changed}
    with pytest.raises(error, match=f"^{re.escape(text)}$"):
        ours.compare(arguments.pop("model_name"), **arguments)


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
