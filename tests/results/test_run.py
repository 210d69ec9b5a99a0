"""A run: what one request gave, and what can be seen of it."""

from __future__ import annotations

import re

import numpy as np
import pytest
from cells import CONFIG, DOUBLE, calling, cell

from blsnb import InferenceError, Run, Server
from blsnb.request_fields import RequestFields
from blsnb.results.response import Response
from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import freeze

X = {"X": np.array([1, 2], np.float32)}


@pytest.fixture
def run(server: Server) -> Run:
    """A run of two calls."""
    server.define("double", DOUBLE, config=CONFIG)
    server.define("outer", calling("double"), config=CONFIG)
    return server.infer("outer", X)


def test_a_run_is_one_line(run):
    """The text has model, time, and numbers of calls and models."""
    assert repr(run).startswith("<Run outer: ")
    assert re.search(r": [\d.]+ (µs|ms), 2 calls, 2 models>$", repr(run))


def test_a_failed_run_says_how_many_failed(server):
    """The text is one line; without outputs the error has the reason."""
    server.define("bad", cell("raise ValueError('boom')"), config=CONFIG)
    with pytest.raises(InferenceError) as caught:
        server.infer("bad", X)
    run = caught.value.run

    assert repr(run).endswith("1 call, 1 model, 1 failed>")
    assert {} == run.outputs
    with pytest.raises(KeyError, match="boom"):
        run["Y"]


def test_a_missing_output_is_an_error_that_lists_outputs(run):
    """The error suggests a similar name."""
    with pytest.raises(KeyError) as caught:
        run["y"]
    assert "no output 'y'; the response has Y. Did you mean 'Y'?" == str(caught.value)

    with pytest.raises(KeyError) as caught:
        run["other"]
    assert "no output 'other'; the response has Y" == str(caught.value)


@pytest.mark.parametrize("of", ["run", "response"])
def test_outputs_are_named_as_those_of_a_dict(of, run):
    """Loops, `in` and `dict(run)` work."""
    given = run if of == "run" else run.responses[0]

    assert ["Y"] == list(given) == given.keys()
    assert "Y" in given
    assert "Z" not in given
    assert [2, 4] == dict(given)["Y"].tolist()


def test_a_run_without_a_response_has_no_names(server):
    """A failed run is an example."""
    with pytest.raises(InferenceError) as caught:
        server.infer("nobody", X)

    assert [] == list(caught.value.run)


def test_one_response_of_a_model_that_is_not_decoupled(run):
    """It is final, and has no error."""
    (response,) = run.responses

    assert (True, None, {}) == (response.final, response.error, response.parameters)
    assert run["Y"] is response["Y"]


def test_arrays_of_a_run_are_the_callers_own(run):
    """Writing to them does not change the record."""
    run["Y"][:] = 0

    (recorded,) = run.trace.spans[0].outputs
    assert [2, 4] == recorded.view().tolist()


def test_keep_pins_a_run():
    """It returns the run, for the last line of a cell."""
    with Server(trace_budget_bytes=20, keep_runs=1) as server:
        server.define("double", DOUBLE, config=CONFIG)
        run = server.infer("double", X)

        assert run is run.keep()
        for _ in range(3):
            server.infer("double", X)
        assert run.trace.spans[0].inputs[0].data is not None
        assert run.id in {record.id for record in server.runs}


def test_the_fields_of_a_request_are_recorded(server):
    """All fields that are needed to repeat it are recorded."""
    server.define("double", DOUBLE, config=CONFIG)
    inner = 'ask("double", request, timeout=5, parameters={"k": 1}).exec()'
    server.define("outer", cell(f"return [reply(answer_of({inner}))]"), config=CONFIG)
    run = server.infer(
        "outer", X, outputs=["Y"], version=1, correlation_id=7, sequence_start=True
    )

    outer, double = run.trace.spans
    assert RequestFields(1, 7, 1) == outer.request_fields
    assert RequestFields(timeout_us=5, parameters=(("k", 1),)) == double.request_fields
    assert ("Y",) == outer.requested_outputs == double.requested_outputs


def test_a_response_is_one_line():
    """The text has its outputs, its error, or "empty"."""
    tensor = freeze("Y", np.zeros(2, np.float32), BY_DATATYPE["FP32"])

    assert "<Response: empty>" == repr(Response((), None, True, {}))
    assert "<Response: boom>" == repr(Response((), "boom", True, {}))
    assert "Y" in repr(Response((tensor,), None, True, {}))


def test_a_response_without_outputs_says_so():
    """The error has no empty list."""
    with pytest.raises(KeyError, match="has no outputs"):
        Response((), None, True, {})["Y"]
