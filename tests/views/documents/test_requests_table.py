"""Specification of the table of requests that readers without scripts see."""

from dataclasses import replace

import pytest

from blsnb.request_fields import RequestFields
from blsnb.views import requests
from blsnb.views.documents import document

from ..samples import invoice_run


@pytest.fixture
def prioritised():
    """A run of many calls, each with a priority."""
    trace = invoice_run()
    fields = RequestFields(priority=1)
    spans = [
        replace(trace.spans[0], index=row, id=row, request_fields=fields)
        for row in range(2_000)
    ]
    return replace(trace, spans=tuple(spans))


def test_words_are_written_for_the_listed_calls_only(prioritised, monkeypatch):
    """The others are counted, so that a long run costs little."""
    written = []
    write = requests.request_words
    monkeypatch.setattr(
        requests,
        "request_words",
        lambda trace, span: written.append(span.id) or write(trace, span),
    )
    page = document.still(prioritised)

    assert list(range(100)) == written
    assert "… 1,900 more calls" in page


def test_the_request_id_of_the_title_alone_makes_no_table():
    """The picture has it already."""
    trace = invoice_run()
    first = trace.spans[0]
    named = first.request_fields._replace(request_id="r-1")
    spans = (replace(first, request_fields=named), *trace.spans[1:])
    plain = replace(trace, spans=spans, request_id="r-1")

    assert requests.is_plain(plain, plain.spans[0])
    assert not requests.is_plain(replace(plain, request_id=""), plain.spans[0])


def test_a_long_value_is_shortened_in_its_middle():
    """A line has at most 400 characters."""
    trace = invoice_run()
    long = RequestFields(parameters=(("prompt", f"a{'x' * 500}z"),))
    words = requests.request_words(trace, replace(trace.spans[0], request_fields=long))

    assert 400 == len(words)
    assert words.startswith("parameters={'prompt': 'axx")
    assert words.endswith("xxz'}")


@pytest.mark.parametrize(
    ("row", "id_of_run", "words"),
    [(0, "r-1", ""), (0, "r-2", "request_id='r-1'"), (1, "r-1", "request_id='r-1'")],
)
def test_the_request_id_is_omitted_where_the_title_has_it(row, id_of_run, words):
    """That of a model's own call is shown, even if it is the same."""
    trace = replace(invoice_run(), request_id=id_of_run)
    span = replace(trace.spans[row], request_fields=RequestFields(request_id="r-1"))

    assert words == requests.request_words(trace, span)
    assert requests.is_plain(trace, span) == (words == "")


@pytest.mark.parametrize(
    ("count", "last"),
    [
        (3, "request: priority=3"),
        (4, "… 1 more request"),
        (6, "… 3 more requests"),
    ],
)
def test_three_requests_of_a_row_are_written_and_others_counted(count, last):
    """Equal ones are written once."""
    trace = invoice_run()
    spans = [
        replace(
            trace.spans[0],
            index=row,
            id=row,
            request_fields=RequestFields(priority=1 + row % count),
        )
        for row in range(2 * count)
    ]
    found = requests.lines(replace(trace, spans=tuple(spans)), range(2 * count))

    assert min(count, 4) == len(found)
    assert ["request: priority=1", last] == [found[0], found[-1]]
