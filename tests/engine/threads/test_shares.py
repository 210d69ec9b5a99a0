"""Slots, shared between keys."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from blsnb.engine.threads.shares import SharedQueue, Shares

KEYS = "abcd"


def filled(total: int, *keys: str) -> Shares:
    """Return slots of which each key in order took its maximum."""
    shares = Shares(total)
    for key in keys:
        while shares.may_take(key):
            shares.take(key)
    return shares


def test_one_key_gets_half_of_the_slots() -> None:
    """The other half stays free for later keys."""
    assert 4 == filled(8, "a").held("a")


@pytest.mark.parametrize("count", range(1, 6))
def test_a_key_that_holds_nothing_finds_a_slot(count: int) -> None:
    """It finds one while there are free slots, however busy the other keys are."""
    shares = filled(64, *map(str, range(count)))

    assert shares.may_take("new")


def test_work_that_is_not_shared_out_takes_any_slot() -> None:
    """Work without a key has no limit."""
    shares = Shares(3)
    while shares.may_take(None):
        shares.take(None)

    assert 3 == shares.held(None)
    assert 0 == shares.free


def test_continued_work_takes_more_than_the_share_of_its_key() -> None:
    """The last eighth of the slots stays free."""
    shares = filled(16, "a")
    while shares.may_take("a", continued=True):
        shares.take("a")

    assert (14, 2) == (shares.held("a"), shares.free)
    assert shares.may_take("b")


def test_a_key_that_holds_nothing_is_forgotten() -> None:
    """Names come from clients, so they must not accumulate."""
    shares = Shares(2)
    shares.take("a")
    shares.release("a")

    assert not shares._held


def test_work_of_one_key_runs_in_order_of_arrival() -> None:
    """A slot that became free before does not change the order."""
    waiting: SharedQueue[int] = SharedQueue(2)
    assert waiting.enter("a")
    for number in range(3):
        assert not waiting.enter("a")
        waiting.wait("a", number)

    order = []
    for _ in range(3):
        waiting.leave("a")
        found = waiting.next()
        assert found is not None
        order.append(found[1])

    assert [0, 1, 2] == order


def test_continued_work_goes_before_work_that_has_not_begun() -> None:
    """Other work may wait for it."""
    waiting: SharedQueue[str] = SharedQueue(2)
    assert waiting.enter("a")
    waiting.wait("a", "first")
    waiting.wait("a", "continued", continued=True)
    waiting.leave("a")

    assert ("a", "continued") == waiting.next()


def test_keys_that_wait_take_turns() -> None:
    """No key is skipped."""
    waiting: SharedQueue[str] = SharedQueue(1)
    assert waiting.enter(None)
    for key in ("a", "a", "b", "c"):
        waiting.wait(key, key)
    order = []
    left: str | None = None
    for _ in range(4):
        waiting.leave(left)
        found = waiting.next()
        assert found is not None
        left = found[1]
        order.append(left)

    assert ["a", "b", "c", "a"] == order


def test_dropped_work_is_returned() -> None:
    """All of it is returned once."""
    waiting: SharedQueue[int] = SharedQueue(1)
    assert waiting.enter(None)
    waiting.wait("a", 1)
    waiting.wait("b", 2, continued=True)

    assert [1, 2] == waiting.drop()
    assert [] == waiting.drop()
    assert 0 == waiting.waiting_count


STEPS = st.lists(
    st.tuples(st.sampled_from(KEYS), st.sampled_from(["work", "continued", "done"])),
    max_size=120,
)


@given(total=st.integers(1, 20), steps=STEPS)
def test_nothing_waits_that_may_run(total: int, steps: list[tuple[str, str]]) -> None:
    """No slot is assigned twice or lost, and all work runs in the end."""
    waiting: SharedQueue[int] = SharedQueue(total)
    running: Counter[str] = Counter()
    entered = begun = 0

    def begin() -> None:
        nonlocal begun
        while (found := waiting.next()) is not None:
            running[str(found[0])] += 1
            begun += 1

    for key, what in steps:
        if what == "done":
            if running[key]:
                running[key] -= 1
                waiting.leave(key)
                begin()
        else:
            continued = what == "continued"
            entered += 1
            if waiting.enter(key, continued):
                running[key] += 1
                begun += 1
            else:
                waiting.wait(key, entered, continued)
        assert waiting.next() is None
        assert total - running.total() == waiting.shares.free >= 0
    while running.total():
        key = next(iter(+running))
        running[key] -= 1
        waiting.leave(key)
        begin()

    assert (entered, 0) == (begun, waiting.waiting_count)
