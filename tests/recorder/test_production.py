"""Specification of recordings of a real server, whose models are not changed."""

from __future__ import annotations

from collections import Counter

import pytest

pytestmark = [pytest.mark.triton_server, pytest.mark.timeout(180)]


def _run(recording, model, number=0):
    return recording.filter(model)[number]


def _children(run):
    """Return the model and the first input of each call of the client request."""
    trace = run.trace
    spans = [trace.spans[row] for row in trace.children[0]]
    return [
        (trace.models[span.model].name, float(span.inputs[0].view()[0]))
        for span in spans
    ]


def test_synchronous_calls_are_below_their_request(recorded):
    """Inputs, outputs, ids and times of both are recorded."""
    recording, received = recorded
    run = _run(recording, "sync")

    assert [("double", 3.0), ("double", 6.0)] == _children(run)
    assert received["sync"].tolist() == run["Y"].tolist() == [12.0]
    assert "id of sync" == run.trace.request_id
    assert "first" == run.trace.spans[1].request_id
    assert 0 < run.trace.spans[1].duration_ns < run.trace.spans[0].duration_ns


def test_a_model_that_imports_the_compiled_module_itself_is_recorded(recorded):
    """The recorder waits for its class, which does not exist yet."""
    recording, received = recorded
    run = _run(recording, "imports")

    assert [("double", 3.0), ("double", 6.0)] == _children(run)
    assert [12.0] == received["imports"].tolist() == run["Y"].tolist()


def test_asynchronous_calls_are_below_their_request(recorded):
    """They are marked as such."""
    run = _run(recorded[0], "gathers")

    assert [("double", 3.0), ("double", 4.0), ("double", 5.0)] == _children(run)
    assert [0, 1, 1, 1] == [int(span.flags) for span in run.trace.spans]


def test_decoupled_calls_have_their_responses(recorded):
    """The empty final one is among them, as the model received it."""
    run = _run(recorded[0], "streams")
    sent = run.trace.spans[1].responses

    assert [("counts", 3.0)] == _children(run)
    assert [[3.0], [4.0], [5.0], None] == [
        each.outputs[0].view().tolist() if each.outputs else None for each in sent
    ]


def test_calls_of_threads_and_thread_pools_are_below_their_request(recorded):
    """The model started them while it executed the request."""
    run = _run(recorded[0], "threads")

    assert Counter({3.0: 2, 4.0: 1, 5.0: 1}) == Counter(
        value for _, value in _children(run)
    )


def test_calls_of_threads_after_execute_are_below_the_request_they_were_given(recorded):
    """Three requests of a decoupled model are open at the same time."""
    recording, received = recorded
    runs = recording.filter("late")

    assert {"0": [2.0], "1": [4.0], "2": [6.0]} == received["late"]
    assert [[("double", 1.0)], [("double", 2.0)], [("double", 3.0)]] == [
        _children(run) for run in sorted(runs, key=lambda run: run.trace.request_id)
    ]
    assert [[2.0], [4.0], [6.0]] == sorted(run["Y"].tolist() for run in runs)


def test_steps_of_an_ensemble_are_recorded(recorded):
    """Each step is a request of its model, with its own calls."""
    recording, received = recorded
    steps = [_run(recording, "sync", 1), _run(recording, "gathers", 1)]

    assert [2, 3] == [len(_children(step)) for step in steps]
    assert received["both"].tolist() == steps[1]["Y"].tolist()
    assert ["id of both"] * 2 == [step.trace.request_id for step in steps]


def test_a_failure_has_the_text_that_the_client_received(recorded):
    """The recorder's own frames are in neither."""
    recording, received = recorded
    failed = recording.filter("double", failed=True)[0]

    assert received["double fails"] == failed.error == received["sync fails"]
    assert "ValueError: negative" in failed.error
    assert "blsnb_recorder" not in failed.error
    assert received["sync fails"] == _run(recording, "sync", 2).error


def test_a_call_of_a_batch_is_attributed_to_no_request_of_it(recorded):
    """It names the execution; a batch of one request is known."""
    recording, received = recorded
    runs = recording.filter("batches")
    batches = [run.trace.spans[0].execution for run in runs]
    alone = [run for run in runs if batches.count(run.trace.spans[0].execution) == 1]

    assert [2.0, 4.0, 6.0] == received["batches"]
    assert 3 == len(runs)
    assert set(batches) - {run.trace.spans[0].execution for run in alone} == {
        call.trace.spans[0].origin["execution"] for call in recording.unattributed
    }
    assert [1] * len(alone) == [len(_children(run)) for run in alone]


def test_every_call_of_other_models_has_a_caller(recorded):
    """No call is lost, and none is known without its caller."""
    recording, _ = recorded
    made = Counter(name for run in recording for name, _ in _children(run)) + Counter(
        run.model_name for run in recording.unattributed
    )

    # Each call of `double`, besides the client's own one, was made by a model.
    assert len(recording.filter("double")) - 1 == made["double"]
    assert len(recording.filter("counts")) == made["counts"]
    assert {"batches"} >= {
        call.trace.spans[0].origin["by"] for call in recording.unattributed
    }
