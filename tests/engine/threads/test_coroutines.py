"""Coroutines that are ended whatever they catch."""

from __future__ import annotations

import pytest

from blsnb.engine.threads import coroutines, until_left


class Stubborn:
    """A coroutine that ends when it has been resumed a number of times."""

    def __init__(self, count):
        self.count = count

    @property
    def cr_frame(self):
        return object() if self.count else None


@pytest.mark.parametrize(("count", "has_ended"), [(0, True), (100, True), (101, False)])
def test_a_coroutine_is_resumed_a_hundred_times(monkeypatch, count, has_ended):
    """One that ends at the last attempt has ended."""
    coroutine = Stubborn(count)

    def resume(resumed, kind):
        resumed.count -= 1

    monkeypatch.setattr(until_left, "resume", resume)

    assert has_ended is coroutines.end(coroutine, KeyError)
    assert max(0, count - 100) == coroutine.count
