"""Run files of version 2 that are written during a run, and killed writers."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from asserting import some
from run_files import boundaries, chunks_of, facts, json_of
from views.samples import invoice_run

from blsnb.tensors.dtypes import BY_DATATYPE
from blsnb.tensors.ref import freeze
from blsnb.trace.capture import trace_of
from blsnb.trace.events import Call, CallFlag, ModelInfo
from blsnb.trace.files.run_file import read_run
from blsnb.trace.files.v2 import columns
from blsnb.trace.files.v2 import writer as run_writer
from blsnb.trace.files.v2.chunks import LargeChunk
from blsnb.trace.files.v2.writer import RunHead, RunWriter
from blsnb.trace.responses import ResponseEvent
from blsnb.trace.spans import Trace

MODELS = [
    ModelInfo(name, 1, "python", "cpu", "model", "") for name in ("outer", "inner")
]
HEAD = RunHead("0001", "outer")


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


def test_calls_are_readable_when_the_method_returns(tmp_path):
    """They are written at their start and at their end; the last version counts."""
    path = tmp_path / "a.blsrun"
    with RunWriter.create(path, HEAD) as writer:
        assert 0 == len(read_run(path).trace.spans)
        writer.calls(trace(3, ended=False), [0, 1, 2, 3])
        begun = read_run(path).trace
        writer.calls(trace(3), [1, 2])
        partly = read_run(path).trace
        writer.calls(trace(3), [3, 0])
        writer.finish(99)

    assert [True] * 4 == [span.running for span in begun.spans]
    assert [True, False, False, True] == [span.running for span in partly.spans]
    assert 4 == checked(partly) == checked(read_run(path).trace)
    assert facts(trace(3).spans) == facts(read_run(path).trace.spans)


def test_responses_counts_and_remarks_are_appended(tmp_path):
    """Responses add up; counts and remarks replace earlier ones."""
    path = tmp_path / "a.blsrun"
    whole = invoice_run()
    with RunWriter.create(path, HEAD) as writer:
        writer.calls(whole, range(27))
        writer.responses([(3, ResponseEvent(7, (), "x", 0))])
        writer.responses([(3, ResponseEvent(8, whole.spans[1].outputs, "", 1))])
        writer.remarks(["one"])
        writer.remarks(["two"])
    read = read_run(path).trace

    assert [(7, "x"), (8, "")] == [(e.ns, e.error) for e in read.spans[3].responses]
    assert ("one", "two") == read.remarks[:2]
    assert "not completed" in read.remarks[2]


def test_a_file_that_exists_is_not_written_over(tmp_path):
    """It may be the only copy."""
    path = tmp_path / "a.blsrun"
    path.write_text("what was there")
    with pytest.raises(FileExistsError):
        RunWriter.create(path, HEAD)

    assert "what was there" == path.read_text()


def test_nothing_follows_a_chunk_that_could_not_be_written(tmp_path):
    """On a full disk everything written before can be read."""
    path = tmp_path / "a.blsrun"
    writer = RunWriter.create(path, HEAD)
    writer.calls(trace(1), [0, 1])
    file, size = writer._file, path.stat().st_size

    class Full:
        def write(self, part: bytes) -> int:
            file.write(part[:5])
            raise OSError(28, "No space left on device")

        def close(self) -> None:
            file.close()

    writer._file = Full()  # type: ignore[assignment]
    with pytest.raises(OSError, match="No space"):
        writer.calls(trace(2), [2])

    assert file.closed
    assert size + 5 == path.stat().st_size
    assert 2 == checked(read_run(path).trace)


def test_large_values_have_chunks_of_their_own_and_small_ones_share(tmp_path):
    """At most a part of the run is in memory twice."""
    path = tmp_path / "a.blsrun"
    whole = trace(300, size=1024)
    path_of(whole, path)

    sizes = [len(each.body) for each in chunks_of(path.read_bytes())]
    assert 301 * 8192 == sum(sizes)
    assert max(sizes) == 1 << 20


def path_of(whole: Trace, path: Path) -> Path:
    """Write a trace as a recorder would, and return the path."""
    with RunWriter.create(path, HEAD) as writer:
        writer.calls(whole, range(len(whole.spans)))
        writer.finish(whole.taken_ns)
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
    """Each block follows the tensors that it names."""
    monkeypatch.setattr(run_writer, "_BLOCK", 4)
    path = path_of(trace(9), tmp_path / "a.blsrun")
    data = path.read_bytes()
    types = [each.type for each in chunks_of(data)]

    assert ["HEAD", "MODL", *["TENS", "CALL"] * 3, "DONE"] == types
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


# Killed writers --------------------------------------------------------------

WRITER = """
import sys
sys.path[:0] = sys.argv[2:]
from pathlib import Path
from test_run_writer import HEAD, RunWriter, trace

whole = trace(4000, size=64)
begun = trace(4000, ended=False)
with RunWriter.create(Path(sys.argv[1]), HEAD) as writer:
    for row in range(4001):
        writer.calls(begun, [row])
        writer.calls(whole, [row])
        print(row, flush=True)
"""


@pytest.mark.parametrize("written", [0, 1, 17, 250, 1000])
def test_a_killed_writer_leaves_what_it_had_written(written, tmp_path):
    """Every reported call is there with its own value."""
    path, here = tmp_path / "a.blsrun", Path(__file__).parent
    command = [sys.executable, "-c", WRITER, str(path), str(here), str(here.parent)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            if int(line) == written:
                break
        os.kill(process.pid, signal.SIGKILL)
    read = read_run(path).trace

    assert written < checked(read) < 4001
    assert not any(span.flags & CallFlag.RUNNING for span in read.spans[: written + 1])
    assert read.remarks[0].startswith("The file ")
