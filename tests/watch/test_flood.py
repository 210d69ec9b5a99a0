"""A busy server's spans: none is lost, and memory stays bounded."""

from __future__ import annotations

import http.client
import time
import tracemalloc

import pytest
from attacks import Figures
from spans import JSON, message, request

from blsnb.watch.receiver import Receiver
from blsnb.watch.store import SpanStore

SPANS, RATE = 60_000, 1000
"""A minute at a thousand spans a second."""
IN_MESSAGE = 512
KEPT = 20_000


@pytest.mark.slow
def test_a_minute_of_a_thousand_spans_a_second_is_received(figures: Figures):
    """All are counted; the latest are kept, with a kilobyte or two for each."""
    store = SpanStore(max_spans=KEPT)
    receiver = Receiver(store, port=0)
    connection = http.client.HTTPConnection("127.0.0.1", receiver.port, timeout=60)
    tracemalloc.start()
    began = time.perf_counter()
    try:
        for first in range(1, SPANS // 2, IN_MESSAGE // 2):
            last = min(first + IN_MESSAGE // 2, SPANS // 2 + 1)
            spans = [s for n in range(first, last) for s in request(n, name=f"m{n}")]
            body = message(*spans)
            connection.request("POST", "/v1/traces", body, {"Content-Type": JSON})
            answer = connection.getresponse()
            assert (200, b"{}") == (answer.status, answer.read())
        took_s = time.perf_counter() - began
        held_bytes = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
        connection.close()
        receiver.close()

    figures(spans=SPANS, per_second=round(SPANS / took_s), held_mib=held_bytes >> 20)
    counts = store.counts
    assert (SPANS, 0) == (counts.received, counts.rejected)
    assert SPANS == counts.kept + counts.dropped
    assert counts.kept <= KEPT
    assert f"m{SPANS // 2}" == store.outlines()[-1].model
    assert held_bytes < KEPT * 4000
    assert took_s < SPANS / RATE
