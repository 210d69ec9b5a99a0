"""Specification of how the place of a cursor is found in unfinished source."""

import pytest

from blsnb.magics.completion.cursor import cursor_at_end

INSIDE = {
    'infer("do': ("do", [("(", "infer", 0, "")]),
    "blsnb.infer('m', {\"X": ("X", [("(", "blsnb.infer", 1, ""), ("{", "", 0, "")]),
    'f(a, model_name="': ("", [("(", "f", 1, "model_name")]),
    'run["': ("", [("[", "run", 0, "")]),
    'f(g(1, "a,b"), h["k"], "x': ("x", [("(", "f", 2, "")]),
    '# (\'"\nf("a': ("a", [("(", "f", 0, "")]),
    '"""f(\n"""\ng("a': ("a", [("(", "g", 0, "")]),
    'f("it\\"s", "a': ("a", [("(", "f", 1, "")]),
    "it's not closed\nf('a": ("a", [("(", "f", 0, "")]),
    'f(x == 1, "a': ("a", [("(", "f", 1, "")]),
}


@pytest.mark.parametrize("text", INSIDE)
def test_a_string_has_its_brackets(text):
    """Their owners, the number of the argument and its keyword."""
    fragment, expected = INSIDE[text]
    found = cursor_at_end(text)

    assert found is not None
    brackets = [(b.kind, b.owner, b.index, b.keyword) for b in found.brackets]
    assert (fragment, expected) == (found.fragment, brackets)


@pytest.mark.parametrize("text", ["", "f(", 'f("a")', '"""doc "', "x = 1 # 'a"])
def test_other_places_are_in_no_string(text):
    """Code, comments, closed strings and long ones."""
    assert cursor_at_end(text) is None


def test_keys_and_values_of_a_dict_are_told_apart():
    """A value is no name of a tensor."""
    key = cursor_at_end('f("m", {"X": 1, "')
    value = cursor_at_end('f("m", {"X": "')
    assert key is not None
    assert value is not None

    assert (True, False) == (key.brackets[-1].is_key, value.brackets[-1].is_key)
