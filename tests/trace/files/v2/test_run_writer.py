"""The chunks of run files of version 2."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from asserting import some
from run_files import boundaries, chunks_of, facts, file_of, json_of

from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import freeze
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, ModelInfo
from blsnb.trace.files.run_file import read_run
from blsnb.trace.files.saved_run import SavedRun
from blsnb.trace.files.v2 import columns
from blsnb.trace.files.v2 import writer as run_writer
from blsnb.trace.files.v2.chunks import LargeChunk
from blsnb.trace.files.v2.writer import write_run
from blsnb.trace.spans import Trace

MODELS = [
    ModelInfo(name, 1, "python", "cpu", "model", "") for name in ("outer", "inner")
]


def values(number: int, count: int = 8) -> np.ndarray:
    """Return the output of the call with a number."""
    return np.full(count, number, np.float64)


def trace(count: int, ended: bool = True, size: int = 8) -> Trace:
    """Return a client request with ``count`` BLS calls, each with its own value."""
    outer = Call(MODELS[0], None, 0)
    calls = [outer, *(Call(MODELS[1], outer, number) for number in range(1, count + 1))]
    for number, call in enumerate(calls):
        call.request_start_ns = 1000 + 10 * number
        if ended:
            call.request_end_ns = call.request_start_ns + number + 1
            array = values(number, size)
            call.outputs = (freeze("Y", array, BY_DATATYPE["FP64"]),)
    return trace_of("0001", calls, 99)


def checked(part: Trace) -> int:
    """Assert that all values are those of their calls; return the number of calls."""
    for span in part.spans:
        for ref in span.outputs:
            array = ref.view()
            assert values(span.id, array.size).tolist() == array.tolist()
        assert span.running is (not span.request_end_ns)
        assert span.running or span.id + 1 == span.duration_ns
    return len(part.spans)


def test_values_that_python_takes_for_equal_stay_what_they_are(tmp_path):
    """In Python, true equals 1."""
    whole = trace(9)
    origins = [*[1] * 5, *[True] * 5]
    spans = [
        dataclasses.replace(span, origin=origin)
        for span, origin in zip(whole.spans, origins, strict=True)
    ]
    path = tmp_path / "a.blsrun"
    write_run(SavedRun(dataclasses.replace(whole, spans=spans), None, None), path)

    read = [span.origin for span in read_run(path).trace.spans]
    assert list(map(repr, origins)) == list(map(repr, read))


def test_the_last_version_of_a_call_counts(tmp_path):
    """A recorder may write a call at its start and at its end."""
    begun, ended = (tmp_path / "begun.blsrun", tmp_path / "ended.blsrun")
    for path, is_ended in ((begun, False), (ended, True)):
        path_of(trace(3, ended=is_ended), path)
    *first, _ = chunks_of(begun.read_bytes())
    *_, tensors, calls, done = chunks_of(ended.read_bytes())
    both = [(c.type, json_of(c), c.body) for c in (*first, tensors, calls, done)]
    ended.write_bytes(file_of(both))
    begun.write_bytes(file_of(both[:-1]))

    assert "not completed" in read_run(begun).trace.remarks[0]
    assert 4 == checked(read_run(ended).trace)
    assert facts(trace(3).spans) == facts(read_run(ended).trace.spans)


def test_large_values_have_chunks_of_their_own_and_small_ones_share(tmp_path):
    """At most a part of the run is in memory twice."""
    path = tmp_path / "a.blsrun"
    whole = trace(300, size=1024)
    path_of(whole, path)

    sizes = [len(each.body) for each in chunks_of(path.read_bytes())]
    assert 301 * 8192 == sum(sizes)
    assert max(sizes) == 1 << 20


def path_of(whole: Trace, path: Path) -> Path:
    """Write a trace without what its client received, and return the path."""
    write_run(SavedRun(whole, None, None), path)
    return path


def test_blocks_of_calls_that_are_too_large_are_divided(tmp_path, monkeypatch):
    """A single call that is too large is an error."""
    monkeypatch.setattr("blsnb.trace.files.v2.chunks.MAX_JSON", 5000)
    whole = trace(9)
    spans = [dataclasses.replace(s, error=f"{s.id}" * 900) for s in whole.spans]
    path = tmp_path / "a.blsrun"
    path_of(dataclasses.replace(whole, spans=tuple(spans)), path)
    blocks = [each for each in chunks_of(path.read_bytes()) if each.type == "CALL"]

    assert 10 == checked(read_run(path).trace)
    assert 10 == sum(len(json_of(block)["ids"]) for block in blocks)
    assert 2 == len(blocks)
    spans[3] = dataclasses.replace(spans[3], error="".join(map(chr, range(32, 6000))))
    with pytest.raises(LargeChunk):
        path_of(dataclasses.replace(whole, spans=tuple(spans)), tmp_path / "b.blsrun")


def test_a_long_run_is_written_in_blocks(tmp_path, monkeypatch):
    """The values come first, so that those of the client get the budget."""
    monkeypatch.setattr(run_writer, "_BLOCK", 4)
    path = path_of(trace(9), tmp_path / "a.blsrun")
    data = path.read_bytes()
    types = [each.type for each in chunks_of(data)]

    assert ["HEAD", "MODL", *["TENS"] * 3, *["CALL"] * 3, "DONE"] == types
    for end in some(boundaries(data)):
        path.write_bytes(data[:end])
        assert checked(read_run(path).trace) in (0, 4, 8, 10)


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ([7, 7, 7], [7, 7, 7]),
        ([7, 7, 7, 7], {"runs": [[4, 7]]}),
        ([7, 7, 7, 7, 7, 7, 8], [7, 7, 7, 7, 7, 7, 8]),
        ([7, 7, 7, 7, 7, 7, 7, 8], {"runs": [[7, 7], [1, 8]]}),
        ([7, 7, 7, 7, 7, 7, 8, 9], [7, 7, 7, 7, 7, 7, 8, 9]),
    ],
)
def test_runs_of_four_values_on_average_are_written_as_runs(lines, expected):
    """Shorter ones take about as many bytes as their values."""
    known = {"line": columns.integers(0, 9)}

    assert {"line": expected} == columns.written({"line": lines}, known)
