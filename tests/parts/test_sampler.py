"""Specification of the requests that a Collector receives."""

import pytest
from whole_text import whole

from blsnb.parts.exporter import RequestSampler


def taken(sampler, count, **options):
    """Return the numbers of the requests that are taken, counted from 1."""
    return [n for n in range(1, count + 1) if sampler.takes(**options)]


def test_one_request_of_the_rate_is_taken():
    """The last of each group."""
    assert [3, 6, 9] == taken(RequestSampler(rate=3), 10)


def test_no_more_requests_than_the_count_are_taken():
    """None at 0, and all at -1."""
    assert [[2, 4], [], [1, 2, 3]] == [
        taken(RequestSampler(2, 2), 9),
        taken(RequestSampler(1, 0), 3),
        taken(RequestSampler(1, -1), 3),
    ]


def test_a_request_with_a_context_is_taken_whatever_the_rate():
    """It counts for the rate, and is taken beyond the maximum; at 0 it is not."""
    sampler = RequestSampler(3, 1)

    assert [1] == taken(sampler, 1, has_context=True)
    assert [2] == taken(sampler, 5)
    assert [1] == taken(sampler, 1, has_context=True)
    assert [] == taken(RequestSampler(1, 0), 1, has_context=True)


def test_a_request_with_a_context_can_be_that_of_the_rate():
    """Then it is one of the maximum."""
    sampler = RequestSampler(2, 2)
    taken(sampler, 2, has_context=True)

    assert [2] == taken(sampler, 4)


def test_at_rate_0_only_requests_with_a_context_are_taken():
    """As on a Triton server."""
    sampler = RequestSampler(0, 1)

    assert [] == taken(sampler, 3)
    assert [1, 2] == taken(sampler, 2, has_context=True)


def test_contexts_are_taken_without_a_count_unless_it_is_off():
    """A count of 0 is not that of a level OFF."""
    sampler = RequestSampler()
    sampler.change(1, 0)

    assert [] == taken(sampler, 3)
    assert [1, 2] == taken(sampler, 2, has_context=True)
    sampler.change(1, 4, is_on=False)
    assert [] == taken(sampler, 2, has_context=True)
    assert 4 == sampler.left


def test_a_change_begins_to_count_anew():
    """As on a Triton server."""
    sampler = RequestSampler(2, 1)
    taken(sampler, 3)
    sampler.change(2, 1)

    assert [2] == taken(sampler, 5)


RATE = "is not valid; expected 0 or more"
COUNT = "is not valid; expected -1 for no limit, or the maximum number of requests"


@pytest.mark.parametrize(
    ("rate", "count", "text"),
    [
        (-1, 1, f"otlp_rate=-1 {RATE}"),
        (1, -2, f"otlp_count=-2 {COUNT}"),
    ],
)
def test_invalid_numbers_are_refused(rate, count, text):
    """The text names the argument of the server."""
    with pytest.raises(ValueError, match=whole(text)):
        RequestSampler(rate, count)
