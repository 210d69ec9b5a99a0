"""Specification of the samples that travel to the page: a tree within a budget."""

import dataclasses

import numpy as np
import pytest

from blsnb.trace.excerpt import part_of
from blsnb.trace.facts import Profile
from blsnb.trace.profiles.lines import FileLines, LineHits, stored_lines
from blsnb.trace.profiles.samples import Sampled, SampleProfile, StackFrame
from blsnb.views.documents import document
from blsnb.views.documents.profiles import MAX_LINES, MAX_NODES, MAX_ROWS
from views.encoded import decode, encode

from ..samples import batch_run, invoice_run

EXECUTE = StackFrame("TritonPythonModel.execute", "model.py", 7, True)
HELPER = StackFrame("helper", "model.py", 2, True)
LIBRARY = StackFrame("dumps", "json.py", 9)


def profiled(trace, samples):
    """Return a trace with samples, one every 1.1 ms."""
    stored = SampleProfile(samples, 1_100_000, 1_000_000).stored()
    return dataclasses.replace(trace, profiles=(stored,))


def sent(trace):
    """Return the entry of the header, and its columns."""
    header, buffer = encode(trace)
    return header["profile"], decode(header["profile"], buffer)


def many():
    """Return 100,000 samples of 10,000 calls, in 20,000 different lines."""
    trace = batch_run(10_000)
    names = [info.name for info in trace.models]
    samples = [
        Sampled(
            call,
            names[trace.spans[call].model],
            (EXECUTE, StackFrame("work", "model.py", 10 * call + line, True)),
            5,
        )
        for call in range(10_000)
        for line in range(2)
    ]
    return profiled(trace, samples)


def test_a_run_without_samples_sends_nothing():
    """The header has no entry."""
    header, _ = encode(invoice_run())

    assert "profile" not in header


@pytest.mark.parametrize("kind", ["samples", "lines"])
def test_a_run_with_a_damaged_profile_is_shown_without_it(kind):
    """The calls are still of use."""
    damaged = Profile(kind, 0, {"files": 3}, b"")
    header, _ = encode(dataclasses.replace(invoice_run(), profiles=(damaged,)))

    assert (None, {}) == (header["profile"], header["lines"])


def test_stacks_are_a_tree_of_lines_by_model():
    """Each line of a stack is sent once; calls refer to the lines."""
    samples = [
        Sampled(0, "invoice_pipeline", (EXECUTE, HELPER), 3),
        Sampled(0, "invoice_pipeline", (EXECUTE, HELPER, LIBRARY), 2),
        Sampled(1, "decode_image", (EXECUTE,), 4),
    ]
    entry, columns = sent(profiled(invoice_run(), samples))

    frames = [tuple(frame[:3]) for frame in entry["frames"]]
    assert [("", "", 0), EXECUTE[:3], HELPER[:3], LIBRARY[:3]] == frames
    assert [0, 1, 1, 0] == [frame[3] for frame in entry["frames"]]
    assert [-1, 0, 1, 2, -1, 4] == columns["parent"].tolist()
    assert [0, 1, 2, 3, 0, 1] == columns["frame"].tolist()
    assert [0, 0, 0, 0, 1, 1] == columns["model"].tolist()
    assert [0, 0, 3, 2, 0, 4] == columns["samples"].tolist()
    rows = zip(
        *[columns[name].tolist() for name in ("call", "node", "count")], strict=True
    )
    assert [(0, 2, 3), (0, 3, 2), (1, 5, 4)] == list(rows)
    assert (1100.0, 1000.0, 0, 0) == (
        entry["interval_us"],
        entry["wanted_us"],
        entry["left_out"],
        entry["merged"],
    )


def timed(*lines):
    """Return what a page receives of a helper's timed lines."""
    file = FileLines("helper.py", "x = 1\n", lines)
    trace = dataclasses.replace(invoice_run(), profiles=(stored_lines(0, [file]),))
    header, _ = encode(trace)
    [(call, files)] = header["lines"].items()
    assert ("0", 1) == (call, len(files))
    return files[0]


def test_timed_lines_are_sent_in_microseconds_with_their_text():
    """Lines between those that are shown are null."""
    name, rows = timed(LineHits(1, 3, 2_500_000), LineHits(9, 1, 1_000))

    first, *_, last = rows
    assert "helper.py" == name
    assert ["helper.py:1", 3, 2500.0, 0.0, "x = 1"] == first
    assert ["helper.py:9", 1, 1.0, 0.0, ""] == last
    assert [3] == [place for place, row in enumerate(rows) if row is None]


def test_very_many_timed_lines_are_cut():
    """The first ones are sent."""
    _, rows = timed(*(LineHits(line, 1, 1) for line in range(1, MAX_LINES + 2)))

    assert MAX_LINES == len(rows)
    assert f"helper.py:{MAX_LINES}" == rows[-1][0]


def test_the_samples_of_very_many_lines_stay_within_a_budget():
    """No sample is lost: thin lines belong to their callers, calls to their models."""
    entry, columns = sent(many())

    assert (MAX_NODES, MAX_ROWS) == (len(columns["parent"]), len(columns["call"]))
    assert 100_000 == columns["samples"].sum()
    assert 20_000 > entry["left_out"] > 0
    assert entry["merged"] > 10_000


def test_a_page_with_very_many_samples_is_hardly_larger():
    """The profile of 10,000 calls adds at most 100 kB to a notebook."""
    trace = many()
    plain = dataclasses.replace(trace, profiles=())

    added = len(document.html(trace)) - len(document.html(plain))

    assert 0 < added < 100_000


def test_callers_precede_their_callees():
    """The page sums the tree from its end."""
    _, columns = sent(many())
    parents = columns["parent"]

    assert np.all(parents < np.arange(len(parents)))


def test_samples_of_unknown_calls_are_those_of_their_model():
    """A call that is only counted has no row, but its model has its samples."""
    samples = [Sampled(10**6, "decode_image", (EXECUTE,), 4)]
    entry, columns = sent(profiled(invoice_run(), samples))

    assert 4 == columns["samples"].sum()
    assert 0 == len(columns["call"])
    assert [1, 1] == columns["model"].tolist()
    assert 0 == entry["left_out"]


def test_a_replayed_call_is_compared_without_the_samples_of_others():
    """The part of a trace sends the samples of its calls."""
    samples = [
        Sampled(0, "invoice_pipeline", (EXECUTE,), 3),
        Sampled(1, "decode_image", (EXECUTE,), 4),
    ]
    trace = profiled(invoice_run(), samples)

    _, columns = sent(part_of(trace, 1))

    assert [1] == columns["call"].tolist()
    assert 4 == columns["samples"].sum()
