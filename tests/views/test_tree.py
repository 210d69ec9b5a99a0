"""Specification of the run as text."""

import pytest

from blsnb.trace.comparison import compare
from blsnb.trace.events import CallFlag
from blsnb.views.tree import tree

from . import golden_run
from .samples import Script, fail, hostile_run, invoice_run


def test_the_tree_of_the_sample_is_the_golden_one():
    """A change of the text is reviewed before it is accepted."""
    assert golden_run.TREE.read_text("utf-8") == tree(invoice_run()) + "\n"


def test_a_line_has_model_calls_time_and_failures():
    """Each level is indented by two spaces; the first error is below its line."""
    lines = tree(invoice_run()).splitlines()

    assert "  invoice_pipeline  76.2 ms" == lines[1]
    assert "      embedder \N{MULTIPLICATION SIGN}6  11.2 ms" in lines
    checks = next(k for k, line in enumerate(lines) if "schema_check" in line)
    assert lines[checks].endswith("2.65 ms  2 failed")
    assert lines[checks + 1].startswith("      ! ValueError: field 'total_due'")


def test_a_failure_without_a_text_has_its_code():
    """Triton answers so where a request is cancelled in a queue."""
    script = Script()
    script.model("m")
    call = script.call(None, "m", 0, 0, 0, 1, 0)
    call.flags, call.error, call.error_code = CallFlag.ERROR, "", "CANCELLED"

    assert "    ! CANCELLED" == tree(script.trace()).splitlines()[2]


def test_notes_are_below_the_line_of_their_call():
    """A line has the first notes of its calls, each once, and the number of others."""
    script = Script()
    script.model("outer")
    script.model("inner")
    outer = script.call(None, "outer", 0, 0, 0, 9, 0)
    outer.notes = ["one\nwords"]
    for at in range(6):
        call = script.call(outer, "inner", at, 0, 0, 1, 0)
        call.notes = ["the same", f"note {at}"]

    lines = tree(script.trace()).splitlines()

    assert "    * one; words" == lines[2]
    assert [
        "      * the same",
        "      * note 0",
        "      * note 1",
        "      * … 4 more notes",
    ] == lines[4:]


def test_nothing_in_a_name_reaches_the_terminal_as_a_command():
    """Escape sequences, line ends and direction marks are shown as marks."""
    text = tree(hostile_run())

    assert not set("\x1b\x00\u202e\r") & set(text)
    assert 6 == len(text.splitlines())
    assert text.encode()


def test_a_very_long_tree_is_cut_and_counted():
    """A thousand levels of recursion do not fill a terminal."""
    script = Script()
    script.model("m")
    caller = None
    for at in range(500):
        caller = script.call(caller, "m", at, 0, 0, 1, 0)
    lines = tree(script.trace()).splitlines()

    assert (202, "  … 300 more lines") == (len(lines), lines[-1])


@pytest.mark.parametrize("more", [0, 1])
def test_long_names_errors_and_notes_are_cut(more):
    """A line is read at a glance."""

    def cut(text):
        return f"{text[:-2]}…" if more else text

    name, error, note = ("x" * (most + more) for most in (80, 160, 240))
    script = Script()
    script.model(name)
    call = script.call(None, name, 0, 0, 0, 40, 0)
    fail(call, error)
    call.notes = [note]
    lines = tree(script.trace()).splitlines()[1:]

    assert [
        f"  {cut(name)}  45 µs  1 failed",
        f"    ! {cut(error)}",
        f"    * {cut(note)}",
    ] == lines


def loop(size, error=""):
    """Return a run with calls in a row, which fail if there is an error."""
    script = Script()
    script.model("outer")
    script.model("leaf")
    outer = script.call(None, "outer", 0, 0, 0, 100, 0)
    for number in range(size):
        call = script.call(outer, "leaf", number, 0, 0, 1, 0)
        if error:
            fail(call, f"{error} {number}")
    return script.trace()


@pytest.mark.parametrize(
    ("size", "before", "expected"),
    [
        (16, 16, [f"error: no {k}; before: none" for k in range(16)]),
        (
            17,
            17,
            [
                *(f"error: no {k}; before: none" for k in range(16)),
                "… and more: 17 calls changed",
            ],
        ),
        (
            17,
            16,
            [
                "1 of these calls are new",
                *(f"error: no {k}; before: none" for k in range(15)),
                "… and more: 16 calls changed",
            ],
        ),
    ],
)
def test_a_row_has_at_most_16_differences(size, before, expected):
    """The number of all changed calls is below them."""
    lines = tree(compare(loop(size, "no"), loop(before))).splitlines()
    found = [line for line in lines if line.startswith("      ~ ")]

    assert [f"      ~ {each}" for each in expected] == [
        each for each in found if "not compared" not in each
    ]


@pytest.mark.parametrize(("levels", "more"), [(200, []), (201, ["  … 1 more line"])])
def test_a_tree_has_at_most_200_lines(levels, more):
    """The number of others is below them."""
    script = Script()
    script.model("m")
    caller = None
    for at in range(levels):
        caller = script.call(caller, "m", at, 0, 0, 1, 0)

    assert more == tree(script.trace()).splitlines()[201:]
