"""A client of sequences: their ids, their flags, and how they end."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

from blsnb.errors import InferenceError
from blsnb.parts.requests import ClientRequest
from blsnb.planning.sequence_client import SequenceClient
from blsnb.request_fields import SEQUENCE_END, SEQUENCE_START, RequestFields

BOTH = SEQUENCE_START | SEQUENCE_END


class Requests:
    """Client requests that are only noted; some are refused."""

    def __init__(self, refused: bool = False) -> None:
        self.sent: list[tuple[str, int]] = []
        self._refused = refused

    def run(self, request: ClientRequest, deadline: Any, record: Any) -> None:
        """Note a request."""
        self._note("run", request)

    def stream(self, request: ClientRequest, record: Any) -> Iterator[int]:
        """Note a request when its responses are read."""
        self._note("stream", request)
        yield 1

    def _note(self, how: str, request: ClientRequest) -> None:
        self.sent.append((how, request.fields.flags))
        if self._refused:
            raise InferenceError("no sequence")


def client(length: int, requests: Any = None, stream: bool = False) -> SequenceClient:
    """Return a client whose sequences have this length."""
    fields = RequestFields(2, priority=3)
    request = ClientRequest("m", {}, fields, ("Y",))
    record = SimpleNamespace
    return SequenceClient(requests or Requests(), request, record, stream, [length])


def test_a_sequence_has_one_id_and_flags_at_its_ends():
    """The next one has another id; a sequence of one request has both flags."""
    three, one = client(3), client(1)
    found = [three.next_request(0).fields for _ in range(6)]
    single = [one.next_request(0).fields for _ in range(2)]

    assert [SEQUENCE_START, 0, SEQUENCE_END] * 2 == [each.flags for each in found]
    assert [BOTH, BOTH] == [each.flags for each in single]
    ids = [each.correlation_id for each in (*found, *single)]
    assert [ids[0]] * 3 + [ids[3]] * 3 == ids[:6]
    assert 4 == len(set(ids))
    assert min(ids) >= 1 << 40


def test_each_client_of_a_loop_has_its_own_sequence():
    """Its requests are otherwise those that were given."""
    found = client(2)
    first, other = found.next_request(0), found.next_request(1)

    assert [SEQUENCE_START] * 2 == [each.fields.flags for each in (first, other)]
    assert first.fields.correlation_id != other.fields.correlation_id
    assert ("m", {}, ("Y",)) == (first.model_name, first.inputs, first.outputs)
    assert (2, 3) == (first.fields.version, first.fields.priority)


def test_open_sequences_are_ended_once():
    """A refusal of one does not keep the others open."""
    for stream, how in ((False, "run"), (True, "stream")):
        requests = Requests(refused=True)
        found = client(2, requests, stream)
        for number in (0, 1, 1):
            found.next_request(number)
        found.next_request(2)

        found.end()
        found.end()

        assert [(how, SEQUENCE_END)] * 2 == requests.sent
        assert SEQUENCE_START == found.next_request(0).fields.flags
