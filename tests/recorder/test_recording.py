"""Runs of a recording: which ones, in which order, and as rows."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from asserting import some
from cells import CONFIG, DOUBLE, cell

import blsnb
from blsnb.errors import InferenceError, TraceError
from blsnb.recorder.recording import Recording

X = {"X": np.array([1, 2], np.float32)}


@pytest.fixture(scope="module")
def runs():
    """Runs of two models, the last of which failed."""
    with blsnb.Server() as server:
        server.define("double", DOUBLE, config=CONFIG)
        server.define("breaks", cell("raise ValueError('no')"), config=CONFIG)
        found = [
            server.infer(
                "double", X, request_id="a", correlation_id=3, parameters={"k": 1}
            ),
            server.infer("double", X, request_id="b"),
        ]
        with pytest.raises(InferenceError) as failed:
            server.infer("breaks", X, request_id="a")
        return [*found, failed.value.run]


def test_a_recording_is_one_line(runs):
    """It counts only what there is."""
    texts = {
        "<Recording of no model: 0 runs>": Recording([]),
        "<Recording of double: 1 run>": Recording(runs[:1]),
        "<Recording of double, breaks: 3 runs, 1 failed>": Recording(runs),
        "<Recording of double: 2 runs, 1 unattributed BLS call>": Recording(
            runs[:2], runs[2:]
        ),
    }

    assert list(texts) == list(map(repr, texts.values()))


def test_runs_are_filtered_by_each_property(runs):
    """A duration of exactly the minimum is long enough; the remarks remain."""
    recording = Recording(runs, runs[:1], ["a remark"])
    least_ms = runs[0].duration_ms

    assert runs == list(recording.filter())
    assert runs[:2] == list(recording.filter("dou*"))
    assert [runs[0], runs[2]] == list(recording.filter(request_id="a"))
    assert runs[2:] == list(recording.filter(failed=True))
    assert runs[:2] == list(recording.filter(failed=False))
    assert [each for each in runs if each.duration_ms >= least_ms] == list(
        recording.filter(slower_than_ms=least_ms)
    )
    none = recording.filter("nobody")
    assert ([], ("a remark",)) == (list(none), none.remarks)


def test_unattributed_calls_are_filtered_by_the_model_that_made_them(runs):
    """Nothing else is known of their request; without its name only all match."""
    by_a, by_b, by_none = (_call_of(name) for name in ("pre_a", "pre_b", None))
    recording = Recording(runs, [by_a, by_b, by_none])

    assert [by_a, by_b, by_none] == [*recording.filter(failed=True).unattributed]
    assert [by_a, by_b] == [*recording.filter("pre*").unattributed]
    assert [by_b] == [*recording.filter("pre_b", request_id="x").unattributed]
    assert [] == [*recording.filter("double").unattributed]


def _call_of(model):
    """Return a call of `double` by a model, whose request is not known."""
    origin = {"bls": True, "by": model, "execution": 7} if model else {"bls": True}
    trace = SimpleNamespace(spans=[SimpleNamespace(origin=origin)])
    return SimpleNamespace(model_name="double", trace=trace)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        ({"model": 5}, "model=5 is not valid; expected a name or a pattern"),
        ({"request_id": 5}, "request_id=5 is not valid; expected a string, or None"),
        ({"failed": 5}, "failed=5 is not valid; expected True, False or None"),
        (
            {"slower_than_ms": ""},
            "slower_than_ms='' is not valid; expected milliseconds",
        ),
    ],
)
def test_a_filter_of_another_type_is_refused(arguments, text):
    """The error names the argument."""
    with pytest.raises(TypeError, match=f"^{text}$"):
        Recording([]).filter(**arguments)


def test_a_row_has_every_field_of_its_request(runs):
    """Arrivals count from the first request of the model."""
    first, second = Recording([runs[2], *runs[:2]]).rows("double")
    late_s = (runs[1].trace.start_ns - runs[0].trace.start_ns) / 1e9

    assert {
        "request_id": "a",
        "correlation_id": 3,
        "parameters": {"k": 1},
        "arrival_s": 0.0,
        "error": "",
        "Y": [2.0, 4.0],
        "X": [1.0, 2.0],
    } == {**first, "X": first["X"].tolist(), "Y": first["Y"].tolist()}
    assert ("b", late_s) == (second["request_id"], second["arrival_s"])
    assert runs[2].error == Recording(runs).rows("breaks")[0]["error"] != ""


def test_rows_of_a_model_without_requests_are_refused(runs):
    """The error has the models that have some."""
    texts = {
        "none": Recording([]),
        "breaks, double": Recording(runs),
    }
    for known, recording in some(texts.items()):
        with pytest.raises(TraceError) as refused:
            recording.rows("other")
        text = "the recording has no request of model 'other'; it has those of: "
        assert text + known == str(refused.value)
    with pytest.raises(TypeError, match=r"^model=5 is not valid; expected a name$"):
        Recording(runs).rows(5)
