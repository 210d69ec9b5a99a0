"""Specification of error texts without frames of the recorder."""

from __future__ import annotations

import _thread

from blsnb.recorder.stub import frames


def test_frames_are_made_again_if_their_thread_fails(monkeypatch):
    """The text of the error has none of the given file either way."""
    start = _thread.start_new_thread
    started = []

    def fail_first(*values):
        started.append(values)
        return start(*values) if len(started) > 1 else start(lambda: None, ())

    monkeypatch.setattr(_thread, "start_new_thread", fail_first)
    monkeypatch.setattr(frames, "_WAIT_S", 0.5)
    try:
        raise ValueError("wrong")
    except ValueError as error:
        listed = frames.places_of(error)
        others = [place for place in listed if place[0] != __file__]
        found = frames.without(__file__, error)

    assert others
    assert others != listed
    assert others == frames.places_of(found)
    assert len(started) > 1
