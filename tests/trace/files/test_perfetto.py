"""Runs that leave for ui.perfetto.dev, in the Trace Event Format."""

from __future__ import annotations

import itertools
import json
from collections import defaultdict
from dataclasses import replace

import pytest
from hypothesis import given
from trace_files import EXAMPLE, traces
from views import golden_run, samples

from blsnb.trace.files.perfetto import perfetto_json
from blsnb.trace.profiles.samples import Sampled, SampleProfile, StackFrame
from blsnb.trace.spans import Trace
from blsnb.trace.triton.trace_file import read_traces

FIELDS = {
    "M": {"args"},
    "X": {"cat", "ts", "dur"},
    "b": {"cat", "ts", "id"},
    "e": {"cat", "ts", "id"},
    "s": {"cat", "ts", "id"},
    "f": {"cat", "ts", "id", "bp"},
    "i": {"ts", "s"},
}
"""Of each kind of event, the fields it must have beside those that all have."""


def events_of(*runs: Trace) -> list[dict]:
    read = json.loads("".join(perfetto_json(runs)))
    assert {"displayTimeUnit", "traceEvents"} == read.keys()
    return read["traceEvents"]


def check(events: list[dict]) -> None:
    """Assert the format's requirements of all events."""
    slices, flows, waits = defaultdict(list), defaultdict(list), defaultdict(list)
    for event in events:
        fields = event.keys() - {"ph", "name", "pid", "tid", "args"}
        assert FIELDS[event["ph"]] - {"args"} == fields
        assert isinstance(event["name"], str)
        if event["ph"] == "X":
            assert event["ts"] >= 0
            assert event["dur"] >= 0
            slices[event["pid"], event["tid"]].append(event)
        elif event["ph"] in "sf":
            flows[event["id"]].append(event)
        elif event["ph"] in "be":
            waits[event["id"]].append(event)
    for pair in (*flows.values(), *waits.values()):
        assert 2 == len(pair)
    for track in slices.values():
        check_nesting(track)
    for flow in flows.values():
        for end in flow:
            inside = [covers(e, end["ts"]) for e in slices[end["pid"], end["tid"]]]
            assert any(inside)


def check_nesting(track: list[dict]) -> None:
    """Assert that slices of one track do not cross."""
    calls = [event for event in track if not event["name"].startswith("compute_")]
    calls.sort(key=lambda event: (event["ts"], event["dur"]))
    for earlier, later in itertools.pairwise(calls):
        assert earlier["ts"] + earlier["dur"] <= later["ts"] + 1e-3
    for phase in track:
        end = phase["ts"] + phase["dur"]
        assert any(covers(c, phase["ts"]) and covers(c, end) for c in calls)


def covers(event: dict, ts: float) -> bool:
    return event["ts"] - 1e-3 <= ts <= event["ts"] + event["dur"] + 1e-3


def named(events: list[dict], kind: str) -> dict[tuple[int, int], str]:
    return {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in events
        if event["name"] == kind
    }


def test_the_file_of_the_samples_is_the_golden_one():
    """A change of an event is reviewed before it is accepted."""
    assert golden_run.PERFETTO.read_text("utf-8") == golden_run.perfetto()


def test_each_instance_has_a_track():
    """Overlapping calls of one instance have a second track."""
    events = events_of(samples.invoice_run())

    tracks = sorted(named(events, "thread_name").values())
    assert "crop_recognizer_0_0" in tracks
    assert "invoice_pipeline_0_0" in tracks
    assert len(tracks) == len(set(tracks))
    assert ["invoice_pipeline"] == list(named(events, "process_name").values())


def test_a_call_has_its_inputs_and_outputs():
    """It has shapes, types and the error, but no values."""
    events = events_of(samples.invoice_run())
    [root] = [e for e in events if e["ph"] == "X" and e["name"] == "invoice_pipeline"]

    assert {"IMAGE": "UINT8[1,224,168,3]", "PROMPT": "BYTES[1]"} == (
        root["args"]["inputs"]
    )
    assert "7f3a" == root["args"]["request_id"]
    errors = [e["args"]["error"] for e in events if "error" in e.get("args", {})]
    assert 3 == len(errors)


def test_arrows_lead_from_callers_to_calls():
    """There is one arrow for each BLS call."""
    run = samples.invoice_run()
    events = events_of(run)
    tracks = named(events, "thread_name")

    arrows = defaultdict(dict)
    for event in events:
        if event["ph"] in "sf":
            arrows[event["id"]][event["ph"]] = tracks[event["pid"], event["tid"]]
    assert len(run.spans) - 1 == len(arrows)
    assert {"s": "rerank_0_0", "f": "embedder_0_0"} in arrows.values()


@pytest.mark.parametrize(
    "make",
    [
        samples.invoice_run,
        samples.running_run,
        samples.hostile_run,
        lambda: samples.batch_run(1000),
        lambda: read_traces(EXAMPLE)[0],
    ],
)
def test_events_have_the_fields_that_the_format_requires(make):
    """Slices of a track do not cross."""
    check(events_of(make()))


@given(traces())
def test_events_of_any_run_have_the_required_fields(trace):
    """The times of the calls are arbitrary."""
    check(events_of(trace))


def test_times_in_a_wrong_order_are_no_phases():
    """A file may contain any times."""
    [run] = read_traces(EXAMPLE)
    root = replace(run.spans[0], compute_input_end_ns=run.spans[0].compute_end_ns + 1)
    events = events_of(replace(run, spans=(root, *run.spans[1:])))

    check(events)
    assert 6 == sum(event["name"].startswith("compute_") for event in events)


def test_several_runs_are_processes_of_one_file():
    """Each has its own tracks, and arrows do not mix."""
    [example] = read_traces(EXAMPLE)
    events = events_of(samples.invoice_run(), example)

    check(events)
    assert {1, 2} == {event["pid"] for event in events}
    assert [] == events_of()


def test_samples_are_a_track_of_nested_events_for_each_model():
    """The stacks of all calls of a model are merged, callers above their callees."""
    execute = StackFrame("TritonPythonModel.execute", "model.py", 7, True)
    helper = StackFrame("helper", "model.py", 2, True)
    rows = [
        Sampled(0, "invoice_pipeline", (execute,), 2),
        Sampled(0, "invoice_pipeline", (execute, helper), 3),
        Sampled(1, "decode_image", (execute,), 4),
    ]
    stored = SampleProfile(rows, 1_500_000, 1_000_000).stored()
    trace = replace(samples.invoice_run(), profiles=(stored,))

    events = json.loads("".join(perfetto_json([trace])))["traceEvents"]

    sampled = [each for each in events if each.get("cat") == "samples"]
    found = [
        (each["name"], each["ts"], each["dur"], each["args"]["samples"])
        for each in sampled
    ]
    assert [
        ("TritonPythonModel.execute model.py:7", 0.0, 7500.0, 5),
        ("helper model.py:2", 0.0, 4500.0, 3),
        ("TritonPythonModel.execute model.py:7", 0.0, 6000.0, 4),
    ] == found
    names = {each["tid"]: each["args"]["name"] for each in events if each["ph"] == "M"}
    tracks = [names[each["tid"]] for each in sampled]
    assert ["invoice_pipeline, samples merged"] * 2 == tracks[:2]
    assert "decode_image, samples merged" == tracks[2]


def test_a_long_text_is_cut():
    """A viewer need not hold a whole traceback."""
    trace = samples.invoice_run()
    first = replace(trace.spans[0], error="x" * 5000)
    events = events_of(replace(trace, spans=(first, *trace.spans[1:])))

    [error] = [e["args"]["error"] for e in events if "x" * 99 in str(e.get("args"))]
    assert "x" * 4095 + "…" == error


@pytest.mark.parametrize(("version", "shown"), [(0, {"version": 0}), (-1, {})])
def test_version_0_is_shown_and_an_unknown_one_is_not(version, shown):
    """0 is not left out as other numbers are; -1 stands for no version."""
    script = samples.Script()
    script.model("m", version=version)
    script.call(None, "m", 0, 1, 1, 1, 1)
    call = next(each for each in events_of(script.trace()) if each["ph"] == "X")

    assert shown == {n: v for n, v in call["args"].items() if n == "version"}


def test_a_number_that_a_viewer_would_round_is_a_text():
    """JavaScript has 53 bits for whole numbers, and JSON no infinity."""
    exact, rounded, infinite = 2**53, -(2**53) - 1, float("inf")
    trace = samples.invoice_run()
    pairs = (("exact", exact), ("rounded", rounded), ("infinite", infinite))
    first = replace(trace.spans[0], response_parameters=pairs)
    events = events_of(replace(trace, spans=(first, *trace.spans[1:])))

    [shown] = [
        each["args"]["response_parameters"]
        for each in events
        if each.get("args", {}).get("response_parameters")
    ]
    assert {"exact": exact, "rounded": str(rounded), "infinite": "inf"} == shown
