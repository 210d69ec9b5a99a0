"""Specification of calls as columns of numbers."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from blsnb.views.columns import columns_of

from .samples import Script, batch_run, invoice_run


def own_by_hand(trace, columns, call):
    """Milliseconds counted one interval after the other."""
    upto = columns.start_us[call]
    covered = 0.0
    children = sorted(trace.children[call], key=lambda k: columns.start_us[k])
    for child in children:
        start = max(upto, columns.start_us[child])
        end = min(columns.end_us[child], columns.end_us[call])
        covered += max(0.0, end - start)
        upto = max(upto, end)
    return columns.duration_us[call] - covered


@given(
    st.lists(
        st.tuples(st.integers(0, 900), st.integers(0, 400), st.integers(0, 5)),
        max_size=12,
    )
)
def test_own_time_is_not_covered_by_child_calls(calls):
    """Overlapping, nested and overhanging calls are each counted once."""
    script = Script()
    script.model("m")
    script.call(None, "m", 0, 0, 0, 1000, 0)
    for at, infer, parent in calls:
        caller = script.calls[min(parent, len(script.calls) - 1)]
        script.call(caller, "m", at, 0, 0, infer, 0)
    trace = script.trace()
    columns = columns_of(trace)

    by_hand = [own_by_hand(trace, columns, call) for call in range(len(trace.spans))]
    assert by_hand == pytest.approx(columns.own_us.tolist(), abs=1e-6)


def test_own_times_of_a_large_trace_are_exact():
    """Rounding errors of thousands of callers do not add up."""
    trace = batch_run(1000)
    columns = columns_of(trace)

    by_hand = [own_by_hand(trace, columns, call) for call in range(60)]
    assert by_hand == pytest.approx(columns.own_us[:60].tolist(), abs=1e-6)


def test_the_wall_time_ends_with_the_last_call():
    """The last call to end may have started earlier than others."""
    assert 76195.0 == columns_of(invoice_run()).wall_us


def test_columns_of_some_rows_are_those_rows():
    """A live view sends the rows that changed."""
    trace = invoice_run()
    part, whole = columns_of(trace, [3, 1]), columns_of(trace)

    assert whole.start_us[[3, 1]].tolist() == part.start_us.tolist()
    assert np.array_equal(whole.phases[:, [3, 1]], part.phases, equal_nan=True)


def test_a_phase_that_ends_before_it_begins_takes_no_time():
    """Times of two threads may be in another order than what they measure."""
    script = Script()
    script.model("model")
    call = script.call(None, "model", 0, 10, 20, 30, 40)
    call.compute_start_ns = call.compute_input_end_ns + 5000
    columns = columns_of(script.trace())

    assert 0 == np.nanmin(columns.phases)


def test_the_queue_of_an_ensemble_ends_with_its_first_step():
    """It computes nothing itself, and does not wait while its steps do."""
    script = Script()
    script.model("ensemble", "ensemble")
    script.model("step")
    whole = script.call(None, "ensemble", 0, 0, 0, 1000, 0)
    script.call(whole, "step", 300, 0, 0, 100, 0)
    script.call(whole, "step", 100, 0, 0, 100, 0)
    whole.compute_start_ns = whole.compute_input_end_ns = 0
    whole.compute_output_start_ns = whole.compute_end_ns = 0
    columns = columns_of(script.trace())

    assert "[2.0, 98.0, nan, 905.0, nan, nan]" == str(columns.phases[:, 0].tolist())
    alone = columns_of(script.trace(), [0])
    assert columns.phases[:, 0].tolist()[3] == alone.phases[:, 0].tolist()[3]
