"""Specification of how a magic's line is read."""

import pytest
from IPython.core.error import UsageError

from blsnb.magics.line import assignments, expand, first_word, words


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", []),
        ("  add   --quiet ", ["add", "--quiet"]),
        ("--input X:FP32[3,-1]", ["--input", "X:FP32[3,-1]"]),
        ("--file 'a b.bin':c.bin", ["--file", "a b.bin:c.bin"]),
        ('--file "a b.bin"', ["--file", "a b.bin"]),
        ("{path} $name", ["/a b/w.bin", "ann"]),
        ("X:FP32[{n + 1}]", ["X:FP32[4]"]),
        ("{'a' + ' b'}", ["a b"]),
        ("{nowhere} $nowhere", ["{nowhere}", "$nowhere"]),
        ("open{ quote'", ["open{", "quote'"]),
    ],
)
def test_a_line_is_split_and_then_expanded(line, expected):
    """A value with a space remains one word."""
    namespace = {"path": "/a b/w.bin", "name": "ann", "n": 3}

    assert expected == words(line, namespace)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (" double  X=[1, 2] ", ("double", "X=[1, 2]")),
        ("\"my model\" X='a b'", ("my model", "X='a b'")),
        ("{'my' + ' model'} X=1", ("{'my' + ' model'}", "X=1")),
        ("'double'", ("double", "")),
        (" ", ("", "")),
    ],
)
def test_the_first_word_of_a_line_may_be_quoted(text, expected):
    """What follows is code, whose quotes stay."""
    assert expected == first_word(text)


def test_a_text_without_marks_is_left_alone():
    """Text without braces or dollar signs is not evaluated."""
    assert "x:y" == expand("x:y", {})


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("A=1", {"A": "1"}),
        ("A=1 B=2", {"A": "1", "B": "2"}),
        ("A = np.ones((2, 3), dtype=int)", {"A": "np.ones((2, 3), dtype=int)"}),
        ("A=f(x=[1, 2]) B={'k': 'v=w'}", {"A": "f(x=[1, 2])", "B": "{'k': 'v=w'}"}),
        ("A=a == b B='C=3'", {"A": "a == b", "B": "'C=3'"}),
        ("'in.put'=1", {"in.put": "1"}),
    ],
)
def test_assignments_begin_outside_of_brackets(text, expected):
    """Keyword arguments and strings inside an expression are part of it."""
    assert expected == assignments(text)


def test_an_input_has_one_expression():
    """Of two, the first one would be ignored."""
    with pytest.raises(UsageError, match=r"^input 'A' is given twice$"):
        assignments("A=1 B=2 'A'=3")


@pytest.mark.parametrize("text", ["1", "x y=1", "A=(1", "=3"])
def test_text_without_an_assignment_is_refused(text):
    """The error shows the text."""
    with pytest.raises(UsageError, match=r"expected INPUT=expression|cannot read"):
        assignments(text)
