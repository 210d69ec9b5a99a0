"""The file of a Collector's file exporter."""

from __future__ import annotations

import pytest
from spans import GOLDEN, NAMES, message, request

from blsnb.errors import TraceFileError
from blsnb.watch import collector_file
from blsnb.watch.collector_file import CollectorFile
from blsnb.watch.store import SpanStore
from blsnb.watch.watch import read


def test_each_line_is_a_message():
    """The requests are those that the server sent."""
    watch = read(GOLDEN)
    assert NAMES == tuple(each.model for each in reversed(watch.requests))
    assert "ens" == watch.run("e1").model_name


def test_the_last_line_may_have_no_end(tmp_path):
    """It is read with the whole file."""
    path = tmp_path / "traces.json"
    path.write_bytes(GOLDEN.read_bytes().rstrip(b"\n"))
    assert 8 == len(read(path).requests)


def test_a_growing_file_is_followed(tmp_path):
    """A line is read when it is complete."""
    path, store = tmp_path / "traces.json", SpanStore()
    first, second = message(*request(1)), message(*request(2))
    path.write_bytes(first + b"\n" + second[:50])
    file = CollectorFile(path, store)

    assert file.read()
    assert 1 == len(store.outlines())
    assert not file.read()
    with path.open("ab") as more:
        more.write(second[50:] + b"\n")
    assert file.read()
    assert 2 == len(store.outlines())


def test_a_file_that_begins_again_is_read_from_its_start(tmp_path):
    """Collectors rotate their files."""
    path, store = tmp_path / "traces.json", SpanStore()
    begun = message(*request(1), *request(2)) + b"\n"
    path.write_bytes(begun + message(*request(4))[:50])
    file = CollectorFile(path, store)
    file.read()
    path.write_bytes(message(*request(3)) + b"\n")
    assert file.read()
    assert (3, 0) == (len(store.outlines()), store.counts.skipped)


def test_lines_that_are_no_spans_are_skipped(tmp_path, monkeypatch):
    """Metrics, damage, and lines that are too long."""
    monkeypatch.setattr(collector_file, "MAX_BODY_BYTES", 2000)
    monkeypatch.setattr(collector_file, "_PIECE", 500)
    path, store = tmp_path / "traces.json", SpanStore()
    lines = [b"{", b"x" * 5000, message(*request(1)), b'{"resourceMetrics": []}', b""]
    path.write_bytes(b"\n".join(lines))
    CollectorFile(path, store).read_whole()
    assert (1, 2) == (len(store.outlines()), store.counts.skipped)
    assert "2 spans received, 2 lines skipped" == str(store.counts)


def test_another_file_is_refused(tmp_path):
    """The text says which file is expected."""
    path = tmp_path / "notes.txt"
    path.write_text("hello\n")
    with pytest.raises(
        TraceFileError,
        match=rf"^'{path}' has no OpenTelemetry spans in JSON; expected the file "
        r"of a Collector's file exporter with format: json and no "
        r"compression$",
    ):
        read(path)
