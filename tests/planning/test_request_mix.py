"""The requests of a planned load, and the sentences about them."""

from __future__ import annotations

import math

import numpy as np
import pytest

from blsnb.parts.requests import ClientRequest
from blsnb.planning.judgement import Judgement
from blsnb.planning.request_mix import load_findings, mix_of
from blsnb.planning.simulation.loads import Kind, Mix
from blsnb.request_fields import RequestFields

from .configs import config

FIELDS = RequestFields(
    3, 7, 1, timeout_us=5, priority=1, parameters=(("k", 1),), request_id="r"
)
REQUEST = ClientRequest("m", {}, FIELDS)
KEPT = RequestFields(correlation_id=7, flags=1, timeout_us=5, priority=1)


def test_requests_have_the_fields_that_schedulers_read():
    """Each priority has its share of them."""
    assert Mix((Kind(1.0, KEPT),), ()) == mix_of(REQUEST, None, None, ())
    assert Mix(
        (Kind(1.0, KEPT._replace(priority=0)), Kind(2.5, KEPT._replace(priority=4))),
        (1, 100_000),
    ) == mix_of(REQUEST, config("m"), {0: 1, 4: 2.5}, [1, 100_000])


@pytest.mark.parametrize("lengths", [np.array([4, 8]), [np.int64(4), np.int8(8)]])
def test_lengths_of_sequences_may_be_those_of_numpy(lengths):
    """As they are in a table of requests."""
    found = mix_of(REQUEST, None, None, lengths)

    assert (4, 8) == found.lengths
    assert {int} == set(map(type, found.lengths))


def test_priorities_may_be_those_of_numpy():
    """As counts of a column give them."""
    found = mix_of(REQUEST, None, {np.int64(2): np.float64(1)}, ())

    assert [2] == [kind.fields.priority for kind in found.kinds]
    assert {int} == {type(kind.fields.priority) for kind in found.kinds}


SHARES = "expected shares of more than 0 by priority, such as {1: 0.2, 2: 0.8}"
SEQUENCES = "sequence_batching {}"


@pytest.mark.parametrize(
    ("given", "error", "text"),
    [
        (
            (5, ()),
            TypeError,
            "priorities=5 is not valid; expected shares by priority, such as {1: 0.2}",
        ),
        (
            (None, 5),
            TypeError,
            "sequence_lengths=5 is not valid; expected a list of numbers",
        ),
        *(
            (({priority: share}, ()), ValueError, f"{found} is not valid; {SHARES}")
            for priority, share, found in (
                (-1, 1, "priorities={-1: 1}"),
                ("1", 1, "priorities={'1': 1}"),
                (1, 0, "priorities={1: 0}"),
                (1, True, "priorities={1: True}"),
                (1, "1", "priorities={1: '1'}"),
                (1, math.nan, "priorities={1: nan}"),
                (1, math.inf, "priorities={1: inf}"),
            )
        ),
        *(
            (
                (None, [length]),
                ValueError,
                f"sequence_lengths=[{length!r}] is not valid; expected numbers of "
                "requests from 1 to 100,000",
            )
            for length in (0, 100_001, 1.5, True)
        ),
        (
            (None, ()),
            ValueError,
            "model 'm' has sequences; expected their numbers of requests, such as "
            "sequence_lengths=[8] (--sequence 8)",
        ),
    ],
)
def test_an_invalid_mix_is_refused(given, error, text):
    """A model with sequences needs their lengths."""
    with pytest.raises(error) as refused:
        mix_of(REQUEST, config("m", more=SEQUENCES), *given)
    assert text == str(refused.value)


def test_the_sentences_of_a_load_have_its_numbers():
    """There is one for each property that the load has."""
    found = Judgement(300.0, 300.0, 1, 2, 3, 0, {}, 0.5, {}, 10)
    rich = found._replace(
        firsts_us=(100.0, 2000.0),
        by_priority={1: (10.0, 20.0)},
        refusals={"full": 1, "late": 1200},
        delayed=2,
    )

    assert [] == list(load_findings(Mix(), found))
    assert [
        "200 sequences/s of 1.5 requests, each sent when the last was answered.",
        "The first response comes after 100 µs, p99 2 ms; the latency of a stream is "
        "that of the last one.",
        "Priority 1: p50 10 µs, p99 20 µs.",
        "Refused: 1 request (full).",
        "Refused: 1,200 requests (late).",
        "Delayed: 2 requests expired in the queue and were executed after all others.",
    ] == list(load_findings(Mix(lengths=(1, 2)), rich))
