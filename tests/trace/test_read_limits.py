"""Files that are small on disk and would be large in memory."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from peak_memory import Measured, measure
from views.samples import invoice_run

from blsnb.errors import TraceFileError
from blsnb.files.read_budget import MIN_BYTES, RATIO
from blsnb.options import options
from blsnb.trace.files.run_file import SavedRun, read_run
from blsnb.trace.files.v2.writer import write_run

_NOISE = 12 << 20
"""Bytes by which the resident memory of a process varies, whatever it does."""
DEEP = b"[" * 990 + b"]" * 990
FLOODS: dict[str, Callable[[], bytes]] = {
    "empty lists": lambda: b"[" + b"[]," * 8_000_000 + b"[]]",
    "text": lambda: b'"' + b"a" * 24_000_000 + b'"',
    "numbers": lambda: b'{"calls":{"parent":[' + b"300," * 6_000_000 + b"1]}}",
    "objects": lambda: b"[" + b'{"a":1},' * 3_000_000 + b"1]",
    "wide text": lambda: b'"' + b"\\ud83d\\ude00" * 2_000_000 + b'"',
    "nested": lambda: b"[" + (DEEP + b",") * 12_000 + b"1]",
}
PREPARE = """
import sys
import blsnb
from blsnb.trace.triton.trace_file import read_traces
blsnb.load_run(sys.argv[1])
"""
WORK = """
try:
    {read}(sys.argv[2])
except blsnb.errors.TraceFileError as error:
    result = str(error)
"""


def saved(folder: Path) -> Path:
    """A small, valid run."""
    trace, path = invoice_run(), folder / "small.blsrun"
    write_run(SavedRun(trace, (), None), path)
    return path


def packed(path: Path, text: bytes, method: int = zipfile.ZIP_DEFLATED) -> Path:
    """Return the file of a run with arbitrary text."""
    with zipfile.ZipFile(path, "w", method) as file:
        file.writestr("run.json", text)
        file.writestr(zipfile.ZipInfo("values.bin"), b"")
    return path


def read_in_a_process(folder: Path, read: str, path: Path) -> Measured:
    """Return the memory for reading a file, and the error."""
    return measure(PREPARE, WORK.format(read=read), saved(folder), path)


@pytest.mark.parametrize("text", FLOODS.values(), ids=FLOODS)
def test_a_run_file_takes_at_most_64_times_its_size(
    tmp_path: Path, text: Callable[[], bytes]
):
    """A larger one is refused with the limit and the option."""
    path = packed(tmp_path / "flood.blsrun", text())
    size = path.stat().st_size
    limit = max(MIN_BYTES, RATIO * size)

    grown, error = read_in_a_process(tmp_path, "blsnb.load_run", path)

    assert (
        f"reading {path} of {size:,} bytes would take more than {limit:,} bytes of "
        "memory; to allow more, set blsnb.options.read_limit_bytes (on a command line: "
        "--read-limit-bytes)"
    ) == error
    assert grown <= limit + _NOISE


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_run_file_has_one_method_of_compression(tmp_path: Path, method: int):
    """Methods that inflate without a limit are refused."""
    path = packed(tmp_path / "flood.blsrun", b"[" + b"[]," * (2 << 20), method)

    grown, error = read_in_a_process(tmp_path, "blsnb.load_run", path)

    assert error.endswith("run.json is compressed with another method than deflate")
    assert grown <= _NOISE


def test_the_option_raises_the_limit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Reading then succeeds, or fails for another reason."""
    path = packed(
        tmp_path / "flood.blsrun", b'{"format":1,"x":"' + b"a" * 3_000_000 + b'"}'
    )
    with pytest.raises(TraceFileError, match=re.escape("read_limit_bytes")):
        read_run(path)

    monkeypatch.setattr(options, "read_limit_bytes", 1 << 30)

    with pytest.raises(TraceFileError, match="no 'id'"):
        read_run(path)


def events(count: int, event: str) -> str:
    """Return a trace file of events of different requests."""
    return f"[{','.join(event % number for number in range(1, count))}]"


TRACES = {
    "one event": '[{"id":1,"timestamps":[' + '{"name":"","ns":1},' * 50_000 + "1]}]",
    "a part that is no event": '[{"id":1,"model_name":""},{"a":['
    + '{"a":{}},' * 60_000
    + "1]}]",
    "requests": events(30_000, '{"id":%d,"model_name":""}'),
}


@pytest.mark.parametrize("text", TRACES.values(), ids=TRACES)
def test_a_trace_file_takes_at_most_64_times_its_size(tmp_path: Path, text: str):
    """A larger one is refused with the limit and the option."""
    path = tmp_path / "trace.json"
    path.write_text(text)
    limit = RATIO * path.stat().st_size

    grown, error = read_in_a_process(tmp_path, "read_traces", path)

    assert f"would take more than {limit:,} bytes of memory; to allow more" in error
    assert grown <= limit + _NOISE
