"""Specification of the differences that a page receives."""

from blsnb.panel.changes import Changes


def test_the_first_message_has_all_rows_and_the_next_ones_only_changes():
    """New and changed rows, and the keys of those that are gone."""
    changes = Changes()
    first = changes.message({"a": {"x": 1}, "b": {"x": 2}})
    second = changes.message({"a": {"x": 1}, "c": {"x": 3}})

    assert {
        "seq": 1,
        "whole": True,
        "rows": [{"x": 1}, {"x": 2}],
        "removed": [],
    } == first
    assert {"seq": 2, "whole": False, "rows": [{"x": 3}], "removed": ["b"]} == second


def test_without_a_change_there_is_no_message():
    """An empty list is a message once."""
    changes = Changes()
    messages = [changes.message({}) is None for _ in range(2)]

    assert [False, True] == messages


def numbered(first: int, count: int) -> dict:
    """Return rows whose keys are numbers."""
    return {str(n): {"n": n} for n in range(first, first + count)}


def test_a_message_of_many_changed_rows_is_followed_by_a_pause():
    """Drawing a row takes the page a millisecond; no change of the pause is lost."""
    now_ms = 0
    changes = Changes(lambda: now_ms * 1_000_000)
    sent = {}
    for now_ms in range(0, 2000, 100):
        message = changes.message(numbered(now_ms // 2, 50))
        if message is not None:
            sent[now_ms] = len(message["rows"])
    now_ms += 1000
    last = changes.message({})

    # The page asked for the first one; those that follow it are half a second apart.
    assert {0: 50, 100: 50, 600: 50, 1100: 50, 1600: 50} == sent
    assert 50 == len(last["removed"])


def test_messages_of_few_rows_follow_at_once():
    """A model that becomes ready is seen while others are busy."""
    now_ms = 0
    changes = Changes(lambda: now_ms * 1_000_000)
    messages = []
    for now_ms in range(0, 1000, 100):
        messages.append(changes.message(numbered(now_ms, 10)))

    assert None not in messages
