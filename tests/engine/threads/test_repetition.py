"""When Ctrl-C is raised again; the time is given."""

from __future__ import annotations

from blsnb.engine.threads.repetition import GRACE_NS, PAUSE_NS, Repetition

START_NS = 5_000_000_000


def test_nothing_is_repeated_within_the_grace():
    """A model has 300 ms to clean up."""
    repetition = Repetition(START_NS)

    assert 300_000_000 == GRACE_NS
    assert not repetition.is_due(START_NS + GRACE_NS - 1)


def test_after_the_grace_it_is_repeated_every_20_ms():
    """Each repetition is followed by a pause, counted from when it was due."""
    repetition = Repetition(START_NS)
    times = range(START_NS, START_NS + GRACE_NS + 3 * PAUSE_NS + 1, 1_000_000)

    due = [now - START_NS for now in times if repetition.is_due(now)]

    assert [300_000_000, 320_000_000, 340_000_000, 360_000_000] == due


def test_a_pause_ends_when_the_next_repetition_is_due():
    """A late thread does not wait for a time that has passed."""
    repetition = Repetition(START_NS)

    assert 0.3 == repetition.pause_s(START_NS)
    assert 0 == repetition.pause_s(START_NS + 2 * GRACE_NS)
