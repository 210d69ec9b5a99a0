"""Trace files that are small on disk and would be large in memory."""

from __future__ import annotations

from pathlib import Path

import pytest
from peak_memory import measure
from views.samples import invoice_run

from blsnb.files.read_budget import RATIO
from blsnb.trace.files.run_file import SavedRun
from blsnb.trace.files.v2.writer import write_run

_NOISE = 12 << 20
"""Bytes by which the resident memory of a process varies, whatever it does."""
PREPARE = """
import sys
import blsnb
from blsnb.trace.triton.trace_file import read_traces
blsnb.load_run(sys.argv[1])
"""
WORK = """
try:
    read_traces(sys.argv[2])
except blsnb.errors.TraceFileError as error:
    result = str(error)
"""


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

    small = tmp_path / "small.blsrun"
    write_run(SavedRun(invoice_run(), (), None), small)
    grown, error = measure(PREPARE, WORK, small, path)

    assert f"would take more than {limit:,} bytes of memory; to allow more" in error
    assert grown <= limit + _NOISE
