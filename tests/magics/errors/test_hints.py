"""Specification of what is said about common mistakes."""

from blsnb.magics.errors.hints import hints


def test_each_hint_is_given_once():
    """A text says the same thing more than once on its way through models."""
    text = "NameError: name 'x' is not defined\n" * 3

    assert 1 == len(hints(text, [], {"x": 1}))


def test_an_error_that_is_none_of_these_gets_none():
    """No hint is better than a wrong one."""
    assert [] == hints("ValueError: % of 3 > 5", [], {})
