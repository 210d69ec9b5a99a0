"""Specification of what is said about common mistakes."""

from __future__ import annotations

from pathlib import Path

from reviewed import reviewed

from blsnb.magics.errors.hints import hints

MISTAKES = [
    "NameError: name 'shared' is not defined",
    "TypeError: TritonPythonModel.execute() takes 1 positional argument but 2 were",
    "TypeError: initialize() missing 1 required positional argument: 'more'",
    "TypeError: auto_complete_config() takes 0 positional arguments but 1 was given",
    "module 'm' has no attribute 'TritonPythonModel'",
    "-> 1 %pip install torch",
    "-> 12   !ls",
    "    1. Tensor(arg0: str, arg1: numpy.ndarray)\n",
    "raise pb_utils.TritonError('no')\nexceptions must derive from BaseException",
    "the class does not implement `execute` method",
    "'NoneType' object has no attribute 'as_numpy'",
]


def test_each_common_mistake_has_its_reviewed_hint():
    """It says what to do; ``BLSNB_WRITE_GOLDEN=1`` writes the file anew."""
    found = [(text, hints(text, [], {"shared": 1})) for text in MISTAKES]
    texts = "".join(f"{text!r}\n    {hint}\n" for text, [hint] in found)

    assert reviewed(Path(__file__).with_name("hints.txt"), texts) == texts


def test_each_hint_is_given_once():
    """A hint is not repeated when its text occurs several times."""
    text = "NameError: name 'x' is not defined\n" * 3

    assert 1 == len(hints(text, [], {"x": 1}))


def test_an_unknown_error_gets_no_hint():
    """No hint is better than a wrong one."""
    assert [] == hints("ValueError: % of 3 > 5", [], {})


def test_a_name_that_no_notebook_has_gets_no_hint():
    """Nor does a line of a traceback that only looks like one of a notebook."""
    unlike = "NameError: name 'x' is not defined\n-> 1 a % b\n1 %pip"

    assert [] == hints(unlike, [], {"y": 1})
