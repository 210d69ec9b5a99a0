"""Specification of recordings here: replayed, compared, saved, and answering."""

from __future__ import annotations

import re

import pytest
from asserting import some

import blsnb
from blsnb.evaluation.rows.source import row_source

pytestmark = [pytest.mark.triton_server, pytest.mark.timeout(180)]
MODELS = ("sync", "gathers", "streams", "threads", "double", "counts")


@pytest.fixture
def server(production):
    """A server here, with the repository of the production server."""
    folder, _ = production
    with blsnb.Server(
        model_repository=folder / "models", startup_models=MODELS
    ) as server:
        yield server


def _without_folders(text):
    return re.sub(r"/\S*/(?=\w+/1/model.py)", "", text)


def test_a_failure_is_reproduced_in_three_commands(production, server):
    """Its text is that of production, besides the folder of the model."""
    folder, received = production

    recording = blsnb.load_recording(folder / "recording")
    failed = recording.filter("sync", failed=True)[0]
    again = failed.replay(server=server)

    assert _without_folders(received["sync fails"]) == _without_folders(
        again.this.error
    )
    assert "sync" == failed.model_name
    assert (
        failed.trace.spans[0].inputs[0].data == again.this.trace.spans[0].inputs[0].data
    )


def test_all_other_requests_have_the_same_bits_here(recorded, server):
    """So have the BLS calls that they make."""
    recording, _ = recorded
    runs = [
        run
        for name in ("sync", "gathers", "streams", "threads")
        for run in recording.filter(name, failed=False)
    ]

    for run in some(runs):
        again = run.replay(server=server).this
        assert run["Y"].tobytes() == again["Y"].tobytes()
        assert _calls(run.trace) == _calls(again.trace)


def _calls(trace):
    """Return what each BLS call sent, in any order: threads have none."""
    return sorted(
        (trace.models[span.model].name, span.inputs[0].data)
        for span in (trace.spans[row] for row in trace.children[0])
    )


def test_a_recorded_stream_is_shown_and_replayed(recorded, server, tmp_path):
    """With all its responses, equal ones here."""
    run = recorded[0].filter("counts")[0]
    again = run.replay(server=server)

    assert [[3.0], [4.0], [5.0]] == [
        each["Y"].tolist() for each in again.this.responses if each.outputs
    ]
    assert ([], [], []) == (again.changes, again.new, again.missing)
    assert "counts" in run.save(tmp_path / "run.html").read_text()


def test_a_call_of_a_recorded_run_is_replayed_by_its_id(recorded, server):
    """The ids are those of the file."""
    recording, _ = recorded
    span = recording.filter("sync")[1].trace.spans[1]
    again = recording.filter("sync")[1].replay(span.id, server=server)

    assert span.id > 1
    assert span.outputs[0].data == again.this["Y"].tobytes()


def test_a_recording_answers_in_place_of_a_model(recorded, server):
    """As the model did for the same inputs."""
    recording, received = recorded
    with server.standing_in("double", replay=recording):
        run = server.infer("sync", {"X": [3]})
    assert received["sync"].tolist() == run["Y"].tolist()


def test_a_recorded_run_is_like_any_other(recorded, server, tmp_path):
    """It is saved, read again, compared, and drawn as a page."""
    recording, _ = recorded
    run = recording.filter("threads")[0]
    again = blsnb.load_run(run.save(tmp_path / "run.blsrun"))
    page = run.save(tmp_path / "run.html").read_text()

    assert [repr(span) for span in run.trace.spans] == [
        repr(span) for span in again.trace.spans
    ]
    assert run.trace.recording == again.trace.recording
    assert "Comparison" in repr(again.compare(run))
    assert "threads" in page
    assert run.started_at == again.started_at


def test_the_requests_of_a_recording_are_rows_of_a_data_set(production):
    """Those of one model, with what it answered in production."""
    folder, received = production

    rows = list(row_source(folder / "recording", ["X"], model_name="sync"))

    assert len(blsnb.load_recording(folder / "recording").filter("sync")) == len(rows)
    errors = [row.rest["recorded_error"] for row in some(rows)]
    assert 1 == sum(map(bool, errors))
    [answered] = [row for row in rows if row.rest["request_id"] == "id of sync"]
    assert received["sync"].tolist() == (answered.rest["recorded"]["Y"].tolist())
