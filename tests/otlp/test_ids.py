"""Ids of traces and spans, and the contexts that clients send and calls pass on."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from blsnb.otlp.ids import Ids, carrier, context_of
from blsnb.trace.facts import TraceContext

TRACE, SPAN = "0a" * 16, "0b" * 8
CONTEXT = TraceContext(TRACE, SPAN, "a=b")


@pytest.mark.parametrize(
    ("parent", "state", "context"),
    [
        (f"00-{TRACE}-{SPAN}-01", "a=b", CONTEXT),
        (f" 00-{TRACE.upper()}-{SPAN.upper()}-00 ", None, (TRACE, SPAN, "")),
        (f"00-{TRACE}-{SPAN}-01", "a" * 513, (TRACE, SPAN, "a" * 512)),
        (f"00-{'0' * 31}1-{'0' * 15}1-01", "", ("0" * 31 + "1", "0" * 15 + "1", "")),
        (None, "a=b", None),
        (f"01-{TRACE}-{SPAN}-01", "a=b", None),
        (f"00-{TRACE}-{SPAN}-01-", "a=b", None),
        (f"00-{TRACE}-{SPAN}", "a=b", None),
        (f"00-{'0' * 32}-{SPAN}-01", "a=b", None),
        (f"00-{TRACE}-{'0' * 16}-01", "a=b", None),
    ],
)
def test_a_context_has_two_ids_that_are_not_zero(parent, state, context):
    """Other headers are ignored; a long state is cut."""
    assert context == context_of(parent, state)


def test_ids_of_a_run_are_the_same_whenever_it_is_exported():
    """Those of another run, call or part differ."""
    ids = Ids("run", 5, None)
    spans = [ids.span_id(1), ids.span_id(2), ids.span_id(1, "compute")]
    other = Ids("run", 6, None)

    assert [ids.trace_id, *spans] == [
        Ids("run", 5, None).trace_id,
        *(Ids("run", 5, None).span_id(*key) for key in ((1,), (2,), (1, "compute"))),
    ]
    assert 6 == len({*spans, ids.trace_id, other.trace_id, other.span_id(1)})
    assert ([32] * 2, [16] * 3) == (
        [len(each.trace_id) for each in (ids, other)],
        [len(each) for each in spans],
    )
    assert TRACE == Ids("run", 5, CONTEXT).trace_id


def test_a_call_passes_its_own_span_on():
    """The state is that of the client; a run that is not exported passes nothing on."""
    call = SimpleNamespace(id=3)
    run = {
        "id": "run",
        "calls": [SimpleNamespace(request_start_ns=5)],
        "is_exported": True,
        "context": CONTEXT,
    }

    def carried(**fields):
        return carrier(SimpleNamespace(**run | fields), call)

    parent = f"00-{TRACE}-{Ids('run', 5, CONTEXT).span_id(3)}-01"
    assert {"traceparent": parent, "tracestate": "a=b"} == carried()
    assert {"traceparent": parent} == carried(context=CONTEXT._replace(state=""))
    assert [None] * 3 == [
        carried(is_exported=False),
        carried(context=None),
        carried(calls=[]),
    ]
