"""Specification of the texts of an agreement."""

from __future__ import annotations

import pytest

from blsnb.parity.agreement import Agreement, Case, Difference
from blsnb.parity.checks import ParityCheck
from blsnb.parity.triton.outcome import ClientFailure, ClientOutcome, ClientResponse

SAME = ParityCheck("Y", "FP32 [1]: 1.0", "FP32 [1]: 1.0", "identical", True)
OTHER = ParityCheck("Y", "FP32 [1]: 1.0", "", "missing on Triton", False)
FAILED = ClientResponse(failure=ClientFailure("INTERNAL", "bad"))


def case(name, *checks, failed=False):
    outcome = ClientOutcome((FAILED,) if failed else (), 2_500)
    return Case(name, outcome, outcome, checks)


VERDICTS = {
    "no case": ((), "no cases to compare", 1),
    "one case": ((case("a", SAME),), "1 case, no difference", 0),
    "an error of some": (
        (case("a", SAME), case("b", SAME, failed=True)),
        *("2 cases, no difference; 1 failed on both servers", 0),
    ),
    "errors of all": (
        (case("a", SAME, failed=True), case("b", SAME, failed=True)),
        *("2 cases, the same error on both servers", 0),
    ),
    "one difference": (
        (case("a", SAME), case("b", SAME, OTHER, failed=True)),
        *("1 of 2 cases differs", 1),
    ),
    "differences": ((case("a", OTHER), case("b", OTHER)), "2 of 2 cases differ", 1),
}


@pytest.mark.parametrize("name", VERDICTS)
def test_a_verdict_counts_the_cases(name):
    """A command fails unless all agree."""
    cases, verdict, exit_code = VERDICTS[name]
    found = Agreement("m", "Triton 2.51.0", cases)

    assert f"<Agreement m: {verdict}>" == repr(found)
    assert f"m on blsnb and Triton 2.51.0: {verdict}" == found.caption
    assert (exit_code, exit_code == 0) == (found.exit_code, found.agree)


def test_errors_of_both_servers_are_lines():
    """Equal errors agree, but a misspelled input is seen at once."""
    found = Agreement("m", "Triton", (case("a", SAME), case("b", SAME, failed=True)))

    assert [found.caption, "b: INTERNAL: bad"] == str(found).splitlines()


def test_differences_and_notes_are_lines_below_the_caption():
    """With what each server returned; "nothing" for a missing part."""
    cases = case("a", SAME, OTHER), case("b\x1b", OTHER)
    found = Agreement("m", "Triton 2.51.0", cases, ("a note",))
    words = "Y: missing on Triton (FP32 [1]: 1.0 | Triton: nothing)"

    assert [
        "m on blsnb and Triton 2.51.0: 2 of 2 cases differ",
        f"a: {words}",
        f"b␛: {words}",
        "a note",
    ] == str(found).splitlines()
    missing = ParityCheck("Z", "", "BOOL []: True", "missing on blsnb", False)
    expected = "<c: Z: missing on blsnb (nothing | Triton: BOOL []: True)>"
    assert expected == repr(Difference("c", missing))


def test_cases_checks_and_outcomes_are_one_line_each():
    """Control characters are shown."""
    assert "<Case a␛: agrees>" == repr(case("a\x1b", SAME))
    assert "<Case a: differs>" == repr(case("a", SAME, OTHER))
    assert "<same Y: identical>" == repr(SAME)
    assert "<DIFFERENT Y: missing on Triton>" == repr(OTHER)
    assert "<1 response in 2.50 µs>" == repr(case("a", failed=True).actual)


def test_the_shown_case_is_the_first_that_differs():
    """Without a difference the first; without a run there is nothing to compare."""
    same, other = case("a", SAME), case("b", OTHER)

    assert other is Agreement("m", "", (same, other, case("c", OTHER))).shown_case
    assert same is Agreement("m", "", (same, case("b", SAME))).shown_case
    assert Agreement("m", "", ()).shown_case is None
    assert (None, None, None) == (other.run, other.real_run, other.comparison)


def test_a_table_has_a_row_for_each_check():
    """With a sign before the verdict, and the times of each case."""
    found = Agreement("m", "", (case("a", SAME, OTHER), case("b")))

    assert (
        ("case", "part", "blsnb", "Triton", ""),
        [
            ("a", "Y", "FP32 [1]: 1.0", "FP32 [1]: 1.0", "= identical"),
            ("a", "Y", "FP32 [1]: 1.0", "", "≠ missing on Triton"),
        ],
    ) == found.table()
    assert [(name, "2.50 µs", "2.50 µs") for name in "ab"] == found.latencies()
