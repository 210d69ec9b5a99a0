"""Run files that are small on disk and would be large in memory."""

from __future__ import annotations

import gc
import json
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from run_files import DONE, HEAD, file_of

from blsnb.errors import TraceFileError
from blsnb.options import options
from blsnb.results.loaded_run import load_run
from blsnb.trace.files.run_file import read_run

_LIMIT = 8 << 20
COUNT = 1_000_000
MODELS = ("MODL", {"models": [{"name": "m"}]})


def rows(count: int, first: str, **columns: Any) -> dict[str, Any]:
    """Return columns: the first complete, the others run-length encoded."""
    runs = {name: {"runs": [[count, value]]} for name, value in columns.items()}
    return {first: list(range(count)) if first == "ids" else [0] * count, **runs}


TENSORS = {"name": ["X"] * 50_000, "datatype": {"runs": [[50_000, "INT8"]]}}
FLOODS: dict[str, list[Any]] = {
    "zeros": [("HEAD", {**HEAD, "x": [0] * COUNT})],
    "lists": [("HEAD", {**HEAD, "x": [[]] * COUNT})],
    "objects": [("HEAD", {**HEAD, "x": [{"a": 1}] * COUNT})],
    "text": [("HEAD", {**HEAD, "x": "a" * 20 * COUNT})],
    "nested": [("HEAD", {**HEAD, "x": [json.loads("[" * 900 + "]" * 900)] * 1000})],
    "wide text": [("HEAD", {**HEAD, "x": "\U0001f600" * COUNT})],
    "calls": [("HEAD", HEAD), MODELS, ("CALL", rows(50_000, "ids", model=0))],
    "times": [
        ("HEAD", HEAD),
        MODELS,
        ("CALL", rows(20_000, "ids", request_start_ns=1 << 60, request_end_ns=5)),
    ],
    "log lines": [
        ("HEAD", HEAD),
        MODELS,
        ("CALL", {"ids": [0], "logs": [[[1, "INFO", ""]] * 100_000]}),
    ],
    "responses": [("HEAD", HEAD), MODELS, ("RESP", rows(100_000, "call", ns=1 << 60))],
    "tensors": [("HEAD", HEAD), ("TENS", TENSORS)],
    "models": [("HEAD", HEAD), ("MODL", {"models": [{"name": ""}] * 59_000})],
    "counted": [
        ("HEAD", HEAD),
        MODELS,
        ("FOLD", {"folded": rows(200_000, "model"), "gaps": {"model": []}}),
    ],
    "answers": [
        ("HEAD", HEAD),
        ("ANSW", {"responses": {"final": [True] * 200_000}, "error": None}),
    ],
    "pauses": [("HEAD", HEAD), ("PAUS", {"paused": [[1, 1]] * 100_000})],
    "profiles": [("HEAD", HEAD), *[("prof", {"x": [0] * 20_000})] * 20],
    "again and again": [
        ("HEAD", HEAD),
        MODELS,
        *[("CALL", rows(3000, "ids", request_start_ns=1 << 60))] * 12,
    ],
}


def peak_of_reading(path: Path) -> tuple[int, str]:
    """Return the peak memory of reading, and the error."""
    gc.collect()
    tracemalloc.start()
    try:
        read_run(path, limit_bytes=_LIMIT)
        error = ""
    except TraceFileError as refused:
        error = str(refused)
    finally:
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()
    return peak, error


@pytest.mark.parametrize("chunks", FLOODS.values(), ids=FLOODS)
def test_a_flood_takes_no_more_than_the_limit(tmp_path, chunks):
    """It is refused before its memory is allocated; the error names the option."""
    path = tmp_path / "flood.blsrun"
    path.write_bytes(file_of([*chunks, ("DONE", DONE)]))
    peak, error = peak_of_reading(path)

    assert f"would take more than {_LIMIT:,} bytes of memory" in error
    assert "blsnb.options.read_limit_bytes" in error
    assert peak <= _LIMIT + path.stat().st_size


EMPTY: dict[str, list[Any]] = {"model": []}
ROWS: dict[str, Any] = {
    "calls": lambda n: ("CALL", rows(n, "ids", request_start_ns=1 << 60)),
    "responses": lambda n: ("RESP", rows(n, "call", ns=1 << 60)),
    "tensors": lambda n: (
        "TENS",
        {"name": ["X"] * n, "datatype": {"runs": [[n, "INT8"]]}},
    ),
    "counted": lambda n: (
        "FOLD",
        {"folded": rows(n, "model", calls=1), "gaps": EMPTY},
    ),
    "gaps": lambda n: ("FOLD", {"folded": EMPTY, "gaps": rows(n, "model")}),
    "answers": lambda n: ("ANSW", {"responses": {"final": [True] * n}}),
}


STEPS = [16_000, pytest.param(2000, marks=pytest.mark.slow)]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("chunk", ROWS.values(), ids=ROWS)
def test_what_is_read_within_the_limit_takes_no_more(tmp_path, chunk, step):
    """The limit is an upper bound of the memory, up to the last row."""
    path, fits = tmp_path / "most.blsrun", 0
    for count in range(8000, 60_000, step):
        chunks = [("HEAD", HEAD), MODELS, chunk(count), ("DONE", DONE)]
        path.write_bytes(file_of(chunks))
        peak, error = peak_of_reading(path)
        assert peak <= _LIMIT
        if error:
            break
        fits = count

    assert 8000 <= fits < 50_000


def test_a_limit_is_given_by_the_caller_or_the_options(tmp_path, monkeypatch):
    """By default it is 64 times the size of the file, at least 16 MiB."""
    path = tmp_path / "flood.blsrun"
    path.write_bytes(file_of([("HEAD", {**HEAD, "x": [0] * COUNT})]))
    with pytest.raises(TraceFileError, match="more than 16,777,216 bytes"):
        load_run(path)
    with pytest.raises(TraceFileError, match="more than 1,000 bytes"):
        load_run(path, limit_bytes=1000)

    monkeypatch.setattr(options, "read_limit_bytes", 2000)
    with pytest.raises(TraceFileError, match="more than 2,000 bytes"):
        load_run(path)
    assert 0 == len(load_run(path, limit_bytes=1 << 30).trace.spans)
