"""Specification of what is said about common mistakes."""

from blsnb.magics.errors.hints import hints


def test_each_hint_is_given_once():
    """A hint is not repeated when its text occurs several times."""
    text = "NameError: name 'x' is not defined\n" * 3

    assert 1 == len(hints(text, [], {"x": 1}))


def test_an_unknown_error_gets_no_hint():
    """No hint is better than a wrong one."""
    assert [] == hints("ValueError: % of 3 > 5", [], {})
