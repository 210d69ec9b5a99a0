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
