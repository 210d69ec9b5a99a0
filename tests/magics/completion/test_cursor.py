"""Specification of how the place of a cursor is found in unfinished source."""

import pytest

from blsnb.magics.completion.cursor import Bracket, Cursor, cursor_at_end

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


def test_a_value_is_a_word_of_a_keyword_argument():
    """It is no string; the source before it ends where the word begins."""
    text = "f('m', version=1"
    [bracket] = (found := cursor_at_end(text)).brackets

    assert Bracket("(", "f", 1, "version", {0: "m"}) == bracket
    assert Cursor("1", (bracket,), False, "f('m', version=") == found
    assert Cursor("o", (), True, "x = ") == cursor_at_end("x = 'o")


OTHER_PLACES = [
    *("", "f(", 'f("a")', '"""doc "', "x = 1 # 'a"),
    *("x = a", "f(a == b", "f(b=1, c", "f(b=g(c", "f(b={c", "f(b=1); x = a"),
]


@pytest.mark.parametrize("text", OTHER_PLACES)
def test_other_places_are_in_no_string_and_no_value(text):
    """Code, comments, closed strings and long ones; assignments and comparisons."""
    assert cursor_at_end(text) is None


def test_keys_and_values_of_a_dict_are_told_apart():
    """A value is no name of a tensor."""
    key = cursor_at_end('f("m", {"X": 1, "')
    value = cursor_at_end('f("m", {"X": "')
    assert key is not None
    assert value is not None

    assert (True, False) == (key.brackets[-1].is_key, value.brackets[-1].is_key)
