"""Specification of timed lines as values: shown beside their source, stored, read."""

import dataclasses

import pytest
from views.samples import invoice_run

from blsnb.errors import TraceError
from blsnb.trace.facts import Profile
from blsnb.trace.profiles.lines import (
    FileLines,
    LineHits,
    LineProfile,
    lines_of,
    stored_lines,
)

HELPER = "".join(f"line {number}\n" for number in range(1, 13))


def of(*hits, trace=None):
    """Return the profile of the first call with executed lines of a helper."""
    files = [FileLines("helper.py", HELPER, tuple(LineHits(*each) for each in hits))]
    return LineProfile(trace or invoice_run(), 0, files)


def calling(*times):
    """Return a run whose first call made child calls in line 2, at these times."""
    trace = invoice_run()
    spans = list(trace.spans)
    for row in trace.children[0]:
        spans[row] = dataclasses.replace(spans[row], line=9)
    for row, (start, end) in zip(trace.children[0], times, strict=False):
        spans[row] = dataclasses.replace(
            spans[row], line=2, request_start_ns=start, request_end_ns=end
        )
    return dataclasses.replace(trace, spans=tuple(spans))


def test_lines_beside_executed_ones_are_shown_and_others_left_out():
    """Two before and two after each; dots stand for those between."""
    rows = str(of((3, 1, 1_500_000), (10, 2_000, 7_000_000_000))).splitlines()

    assert [
        "helper.py",
        "     hits         time     in calls",
        "                                     helper.py:1  line 1",
        "                                     helper.py:2  line 2",
        "        1     1.500 ms               helper.py:3  line 3",
        "                                     helper.py:4  line 4",
        "                                     helper.py:5  line 5",
        "…",
        "                                     helper.py:8  line 8",
        "                                     helper.py:9  line 9",
        "    2,000 7,000.000 ms               helper.py:10  line 10",
        "                                     helper.py:11  line 11",
        "                                     helper.py:12  line 12",
    ] == rows


def test_lines_are_those_of_python():
    """A form feed separates sections, and ends no line."""
    file = FileLines("helper.py", "\f\none\ntwo\n", (LineHits(3, 1, 1),))

    [line] = LineProfile(invoice_run(), 0, [file]).lines()
    assert "two" == line.text


def test_child_calls_have_a_column_of_their_own():
    """Calls of one line at one time are counted once, and gaps between them are not."""
    trace = calling((10_000_000, 14_000_000), (12_000_000, 15_000_000), (20, 20))
    profile = LineProfile(trace, 0, [FileLines("model.py", "", (LineHits(2, 1, 1),))])

    [line] = profile.lines()
    assert (2, 5.0) == (line.line, line.calls_ms)
    row = next(each for each in str(profile).splitlines() if "1     0.000 ms" in each)
    assert row.startswith("        1     0.000 ms     5.000 ms  ")


def test_the_model_precedes_its_helpers():
    """It is what the reader wrote in the cell."""
    files = [FileLines(name, "", (LineHits(1, 1, 1),)) for name in ("a.py", "model.py")]

    profile = LineProfile(invoice_run(), 0, files)
    assert ["model.py", "a.py"] == [file for file, _ in profile.shown()]
    assert "<LineProfile of call 0 (invoice_pipeline): 2 lines>" == repr(profile)


def stored(call=0, line=3, hits=1):
    """Return a run with one timed line of a helper."""
    file = FileLines("helper.py", HELPER, (LineHits(line, hits, 5),))
    return dataclasses.replace(invoice_run(), profiles=(stored_lines(call, [file]),))


@pytest.mark.parametrize(("line", "hits"), [(1, 0), (99_999, 1)])
def test_lines_are_read_as_they_were_stored(line, hits):
    """A run file has them with their source."""
    [file] = lines_of(stored(0, line, hits)).files

    assert FileLines("helper.py", HELPER, (LineHits(line, hits, 5),)) == file


def test_a_run_without_timed_lines_has_none():
    """Samples are a profile of another kind."""
    samples = Profile("samples", 0, {}, b"")

    assert lines_of(invoice_run()) is None
    assert lines_of(dataclasses.replace(invoice_run(), profiles=(samples,))) is None


@pytest.mark.parametrize(
    ("trace", "reason"),
    [
        (stored(line=0), "a line or its hits are out of range"),
        (stored(line=100_000), "a line or its hits are out of range"),
        (stored(hits=-1), "a line or its hits are out of range"),
        (stored(call=None), "there is no such call"),
        (stored(call=99), "there is no such call"),
    ],
)
def test_damaged_lines_are_refused(trace, reason):
    """The text says what is wrong."""
    with pytest.raises(TraceError, match="the lines of the run are damaged: ") as found:
        lines_of(trace)
    assert reason in str(found.value)
