"""What calls that two runs share were given and answered differently."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from views.samples import edited_run, invoice_run, tensor

from blsnb.tensors.difference import ValueChange
from blsnb.trace.comparison import (
    RUNNING,
    UNRECORDED,
    RequestChange,
    change_of,
    compare,
)
from blsnb.trace.dropped import PIN
from blsnb.trace.events import CallFlag
from blsnb.trace.spans import Trace


def changed(trace: Trace, row: int, **facts) -> Trace:
    """Return the trace with changed facts of one call."""
    spans = list(trace.spans)
    spans[row] = dataclasses.replace(spans[row], **facts)
    return dataclasses.replace(trace, spans=tuple(spans))


@pytest.fixture(scope="module")
def before() -> Trace:
    """Return the sample run."""
    return invoice_run()


def test_equal_runs_have_no_changes(before):
    """Their times do not matter."""
    assert {} == compare(before, before).changes


def test_an_edit_is_found_where_it_shows(before):
    """A new output, a changed value and a missing error are found."""
    changes = compare(edited_run(), before).changes
    models = {
        edited_run().models[edited_run().spans[row].model].name for row in changes
    }

    assert {"invoice_pipeline", "text_detector", "schema_check"} == models
    [added] = changes[0].tensors
    assert ("output", ValueChange.ADDED) == (added.role, added.difference.change)
    [score] = changes[2].tensors
    assert ((0, 1, 45, 60), 1) == (score.difference.index, score.difference.differing)
    assert np.isclose(0.25, score.difference.largest)


def test_an_error_that_came_or_went_is_a_change_and_outputs_are_not(before):
    """A failed call has no outputs to compare."""
    failed = changed(before, 1, error="boom", outputs=())
    [change] = compare(failed, before).changes.values()

    assert (1, ("boom", ""), ()) == (change.call, change.error, change.tensors)


def test_parameters_of_responses_are_compared_by_their_names(before):
    """Those of a call, and those of each response of a stream."""
    row = next(span.index for span in before.spans if span.responses)
    first, *others = before.spans[row].responses
    responses = (first._replace(parameters=(("tokens", 3),)), *others)
    other = changed(before, row, response_parameters=(("beam", "a"),))
    [change] = compare(
        changed(other, row, responses=responses), before
    ).changes.values()

    assert (
        RequestChange("response parameter beam", "'a'", ""),
        RequestChange("response 1 parameter tokens", "3", ""),
    ) == change.request


PLACES = """\
x is negative

At:
  {0}/tiny/1/model.py(7): fail
  {0}/tiny/1/model.py(5): execute
"""


@pytest.mark.parametrize(
    ("text", "differs"),
    [
        (PLACES.format("/tmp/a b/models"), False),
        (PLACES.format("/srv").replace("negative", "odd"), True),
        (PLACES.format("/srv").replace("(7)", "(8)"), True),
        (PLACES.format("/srv").replace("tiny", "other"), True),
        (PLACES.format("/srv").replace("model.py", "helper.py"), True),
    ],
)
def test_the_folder_of_a_repository_is_no_difference_of_errors(before, text, differs):
    """Production has another one; model, version, file, line and message count."""
    failed = changed(before, 1, error=PLACES.format("/opt/models"), outputs=())
    again = changed(before, 1, error=text, outputs=())

    assert differs == bool(compare(again, failed).changes)


def test_other_inputs_are_a_change(before):
    """The caller was edited."""
    given = (tensor("ENCODED", "UINT8", [1, 2]), tensor("MORE", "INT32", [1]))
    [change] = compare(changed(before, 1, inputs=given), before).changes.values()

    kinds = [(each.role, each.difference.change) for each in change.tensors]
    assert [("input", ValueChange.SHAPE), ("input", ValueChange.ADDED)] == kinds


def test_tensors_of_one_name_are_distinguished_by_their_order(before):
    """Triton allows two inputs of one name."""
    twice = (tensor("A", "INT32", [1]), tensor("A", "INT32", [2]))
    other = (tensor("A", "INT32", [1]), tensor("A", "INT32", [3]))
    this, that = (changed(before, 1, outputs=each) for each in (twice, other))
    [change] = compare(this, that).changes.values()

    [found] = change.tensors
    assert (1, 1) == (found.difference.differing, found.difference.largest)


def test_responses_of_a_stream_are_compared_by_their_number(before):
    """Only responses that both streams have are compared."""
    [row] = [row for row, span in enumerate(before.spans) if span.responses]
    events = before.spans[row].responses
    other = events[1]._replace(outputs=(tensor("delta", "BYTES", [b"other"]),))
    kept = (events[0], other, *events[2:40])
    shorter = changed(before, row, responses=kept, response_count=40)
    [change] = compare(shorter, before).changes.values()

    assert (40, 46) == change.responses
    [text] = change.tensors
    assert (1, "output") == (text.response, text.role)
    assert (
        "1 of 1 differ; first at [0]: 'other', was 'token 1'" == text.difference.words
    )


def test_dropped_values_are_not_a_change(before):
    """They are counted, so that they are not reported as equal."""
    spans = before.spans
    outputs = tuple(ref.without_data() for ref in spans[2].outputs)
    comparison = compare(changed(before, 2, outputs=outputs), before)

    assert {} == comparison.changes
    assert 2 == change_of(comparison.alignment, 2, 2).not_compared
    assert 2 in comparison.unknown[f"values are no longer kept. {PIN}"]


def test_unrecorded_tensors_are_not_missing(before):
    """Neither are the tensors of the other run new."""
    bare = changed(before, 2, inputs=(), outputs=())
    for comparison in (compare(bare, before), compare(before, bare)):
        assert {} == comparison.changes
        assert 2 in comparison.unknown[UNRECORDED]


def test_a_call_that_still_runs_has_not_changed(before):
    """Its outputs are not known yet."""
    flags = before.spans[2].flags | CallFlag.RUNNING
    running = changed(before, 2, inputs=(), outputs=(), flags=flags)
    for comparison in (compare(running, before), compare(before, running)):
        assert {} == comparison.changes
        assert (2,) == comparison.unknown[RUNNING]


def test_a_refused_call_differs_by_its_error_alone(before):
    """It may have no inputs, which is not a difference."""
    refused = changed(before, 2, inputs=(), outputs=(), error="no such model")
    comparison = compare(refused, before)
    [change] = comparison.changes.values()

    assert (("no such model", ""), ()) == (change.error, change.tensors)
    assert UNRECORDED not in comparison.unknown or (
        2 not in comparison.unknown[UNRECORDED]
    )


def test_another_error_of_a_response_is_a_change(before):
    """It is found even if the first response is equal."""
    [row] = [row for row, span in enumerate(before.spans) if span.responses]
    events = list(before.spans[row].responses)
    events[3] = events[3]._replace(error="cut off", outputs=())
    comparison = compare(changed(before, row, responses=tuple(events)), before)

    assert ("cut off", "") == comparison.changes[row].error
