"""A client that sends sequences."""

from __future__ import annotations

import contextlib
import itertools
import random
from collections.abc import Callable, Sequence

from blsnb.benchmark.client import Client
from blsnb.errors import InferenceError
from blsnb.parts.requests import ClientRequest, ClientRequests
from blsnb.request_fields import SEQUENCE_END, SEQUENCE_START
from blsnb.trace.run_record import RunRecord

_numbers = itertools.count(1 << 40)
"""Correlation ids that no user has chosen."""


class SequenceClient(Client):
    """Sends sequences, each with the same inputs in all its requests.

    Each client of a closed loop sends the next request of its sequence when the last
    one was answered.

    Parameters
    ----------
    lengths
        Numbers of requests of the sequences, drawn at random.
    """

    def __init__(
        self,
        requests: ClientRequests,
        request: ClientRequest,
        record: Callable[[], RunRecord],
        stream: bool,
        lengths: Sequence[int],
    ) -> None:
        super().__init__(requests, request, record, stream)
        self._lengths = lengths
        self._random = random.Random(0)
        self._open: dict[int, tuple[int, int]] = {}
        """Correlation id and number of remaining requests, by client."""

    def next_request(self, number: int) -> ClientRequest:
        """Return the next request of the sequence of a client."""
        flags = 0
        if number not in self._open:
            length = self._random.choice(self._lengths)
            self._open[number] = next(_numbers), length
            flags = SEQUENCE_START
        sequence, left = self._open[number]
        if left == 1:
            del self._open[number]
            flags |= SEQUENCE_END
        else:
            self._open[number] = sequence, left - 1
        return self._request_of(sequence, flags)

    def _request_of(self, sequence: int, flags: int) -> ClientRequest:
        fields = self.request.fields._replace(correlation_id=sequence, flags=flags)
        return self.request._replace(fields=fields)

    def end(self) -> None:
        """End the open sequences: they would keep their slots."""
        for sequence, _ in self._open.values():
            # An idle sequence has already lost its slot, which is refused.
            with contextlib.suppress(InferenceError):
                self._end(self._request_of(sequence, SEQUENCE_END))
        self._open = {}

    def _end(self, request: ClientRequest) -> None:
        if self.stream:
            for _ in self.requests.stream(request, self.record()):
                pass
        else:
            self.requests.run(request, None, self.record())
