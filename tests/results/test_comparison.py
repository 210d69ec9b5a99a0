"""A run compared with an earlier one."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, TRIPLE, calling, cell

from blsnb import Server, load_run
from blsnb.trace.dropped import PIN

X = {"X": np.array([1, 2], np.float32)}
DECOUPLED = f"{CONFIG}\nmodel_transaction_policy {{ decoupled: true }}\n"
ENDLESS = cell("""
sender = request.get_response_sender()
while not request.is_cancelled():
    sender.send(reply(x_of(request)))
sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
""")


def test_a_run_is_compared_with_an_earlier_one(run, server):
    """The comparison shows which outputs differ, and by how much."""
    server.define("double", TRIPLE, config=CONFIG)
    comparison = server.infer("outer", X).compare(run)

    assert re.fullmatch(
        "<Comparison outer: vs .* baseline, 2 changed>", repr(comparison)
    )
    assert [0, 1] == [change.call for change in comparison.changes]
    [difference] = comparison.differences
    assert (2.0, (1,)) == (difference.largest, difference.index)
    assert run is comparison.baseline


def test_a_comparison_names_the_calls_that_are_new_and_missing(run, server):
    """Its text is that of the notebook."""
    server.define("other", TRIPLE, config=CONFIG)
    server.define("outer", calling("other"), config=CONFIG)
    comparison = server.infer("outer", X).compare(run)

    assert [1] == [span.index for span in comparison.new]
    assert [1] == [span.index for span in comparison.missing]
    assert {} == comparison.not_compared
    lines = str(comparison).splitlines()
    assert lines[0].endswith("baseline, 1 changed, 1 new, 1 missing")
    # In the order of their times.
    double, other = sorted(lines[3:5])
    assert re.fullmatch("    double  .*  missing", double)
    assert re.fullmatch("    other  .*  new", other)


def test_what_a_file_does_not_hold_is_not_compared(run, tmp_path):
    """Missing values are not reported as equal."""
    with pytest.warns(UserWarning, match="did not fit"):
        run.save(tmp_path / "run.blsrun", budget_bytes=0)
    comparison = run.compare(load_run(tmp_path / "run.blsrun"))

    assert repr(comparison).endswith("baseline, no change known, 2 not compared>")
    ((why, calls),) = comparison.not_compared.items()
    assert list(run.trace.spans) == calls
    assert why.startswith("run.blsrun does not hold the values: run.save(budget_bytes=")
    assert why.endswith(PIN)


def test_values_that_are_no_longer_kept_are_not_compared():
    """The reason is the limit that dropped them."""
    with Server(trace_budget_bytes=20) as server:
        server.define("double", DOUBLE, config=CONFIG)
        runs = [server.infer("double", {"X": [1.0, 2.0]}) for _ in range(2)]
        (why,) = runs[1].compare(runs[0]).not_compared

    assert why.startswith("values are no longer kept: trace_budget_bytes=20 limits")
    assert why.endswith(PIN)


def test_a_running_stream_is_compared_as_far_as_it_is_recorded(server, tmp_path):
    """Its inputs are recorded at its end: until then they are not new."""
    server.define("many", ENDLESS, config=DECOUPLED)
    stream = server.stream("many", X)
    next(stream)
    running = stream.run
    early = running.compare(running)
    loaded = load_run(running.save(tmp_path / "early.blsrun"))
    again = load_run(loaded.save(tmp_path / "again.blsrun"))
    stream.cancel()

    assert ("It was saved while it was still running.",) == again.trace.remarks
    assert ["still running"] == list(early.not_compared)
    assert [] == early.changes


def test_a_run_is_compared_with_runs_only(run):
    """Other values are an error."""
    with pytest.raises(TypeError, match=r"other=3 is not valid; expected a blsnb\.Run"):
        run.compare(3)
