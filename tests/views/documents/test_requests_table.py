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
