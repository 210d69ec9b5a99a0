"""What two servers answered, compared part by part, without a server."""

from __future__ import annotations

import numpy as np
import pytest

from blsnb.parity.checks import check
from blsnb.parity.triton.answers import NO_ANSWER, WOULD_HANG, Answer, Answers, Failure
from blsnb.tensors.convert import to_ref
from blsnb.tensors.tolerance import Tolerance


def answers(*responses: Answer) -> Answers:
    """Return responses to one request."""
    return Answers(responses, 1_000_000)


def answer(**outputs) -> Answer:
    """Return a response with these outputs."""
    refs = [to_ref(n, np.asarray(value), None, 0) for n, value in outputs.items()]
    return Answer(tuple(refs))


def failed(code: str, text: str) -> Answers:
    """Return an answer that is an error."""
    return answers(Answer(failure=Failure(code, text)))


def found(ours: Answers, theirs: Answers, *tolerance: float):
    """What is compared, whether it agrees, and in which words."""
    checks = check(ours, theirs, Tolerance(*tolerance))
    return [(each.what, each.agrees, each.words) for each in checks]


def test_outputs_are_compared_by_name():
    """Those that one server alone has are told."""
    ours = answers(answer(A=[1, 2], B=[1.5]))
    theirs = answers(answer(A=[1, 2], C=[b"x"]))

    assert [
        ("A", True, "all 2 the same"),
        ("B", False, "blsnb alone has it"),
        ("C", False, "the real server alone has it"),
    ] == found(ours, theirs)


def test_the_order_of_outputs_counts():
    """A client that reads them by number sees it."""
    checks = check(answers(answer(A=[1], B=[2])), answers(answer(B=[2], A=[1])))

    [order] = [each for each in checks if not each.agrees]
    assert ("order of outputs", "A, B", "B, A") == (
        order.what,
        order.ours,
        order.theirs,
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        (np.float32([1, 2]), np.float32([1, 2.5]), "1 of 2 differ, most by 0.5 at [1]"),
        ([b"a", b"b"], [b"a", b"c"], "1 of 2 differ, first at [1]"),
        (np.int8([1]), np.int32([1]), "another datatype; values the same"),
        (np.int8([1]), np.int8([[1]]), "another shape"),
        (np.float32([np.nan]), np.float32([0]), "1 of 1 differ, first at [0]"),
    ],
)
def test_values_say_how_far_they_are_apart_and_where(ours, theirs, words):
    """In datatype, shape, and value."""
    assert [("Y", False, words)] == found(
        answers(answer(Y=ours)), answers(answer(Y=theirs))
    )


@pytest.mark.parametrize(
    ("atol", "rtol", "agrees"),
    [(0.5, 0, True), (0.4, 0, False), (0, 0.25, True), (0.1, 0.2, True), (0, 0, False)],
)
def test_a_tolerance_is_absolute_plus_relative(atol, rtol, agrees):
    """Relative to the real server's value."""
    ours, theirs = (answers(answer(Y=np.float32([each]))) for each in (1.5, 2.0))
    [(_, agreed, words)] = found(ours, theirs, atol, rtol)

    assert agrees is agreed
    assert agrees is words.endswith("; within the tolerance")


def test_a_tolerance_is_for_numbers():
    """Texts, datatypes and shapes have none."""
    for ours, theirs in (([b"a"], [b"b"]), (np.int8([1]), np.int16([1]))):
        [(_, agreed, _)] = found(
            answers(answer(Y=ours)), answers(answer(Y=theirs)), 9, 9
        )
        assert not agreed


def test_two_errors_are_compared_by_code_and_text():
    """A stream has no codes: then the texts count alone."""
    same = failed("INTERNAL", "oh")
    assert [("error code", True, "the same"), ("error text", True, "the same")] == (
        found(same, same)
    )
    assert [("error code", False, "different"), ("error text", True, "the same")] == (
        found(same, failed("INVALID_ARG", "oh"))
    )
    assert [("error text", False, "different")] == found(same, failed("", "no"))


def test_an_error_beside_an_answer_is_told():
    """And the outputs that are not there."""
    [first, second] = check(failed("INTERNAL", "oh"), answers(answer(Y=[1])))

    assert ("error", "[INTERNAL] oh", "an answer") == (
        first.what,
        first.ours,
        first.theirs,
    )
    assert ("Y", "", "INT64[1]: 1", False) == (
        second.what,
        second.ours,
        second.theirs,
        second.agrees,
    )


def test_waiting_for_ever_is_parity_where_both_say_so():
    """Where one answers it is not."""
    hang, silence = failed(WOULD_HANG, "waits"), failed(NO_ANSWER, "no answer in 1 s")
    answered = answers(answer(Y=[1]))

    pairs = [(hang, silence), (hang, answered), (answered, silence)]
    assert [[("answer", True)], [("answer", False)], [("answer", False)]] == [
        [each[:2] for each in found(*pair)] for pair in pairs
    ]


def test_responses_in_another_order_are_one_difference():
    """Other responses are each one of their own."""
    first, second, third = (answer(Y=[number]) for number in range(3))
    assert [
        (
            "order of responses",
            False,
            "the same 3 responses in another order, from 2 on",
        )
    ] == found(answers(first, second, third), answers(first, third, second))

    differing = found(answers(first, second), answers(first, third))
    assert [("response 1: Y", True), ("response 2: Y", False)] == [
        each[:2] for each in differing
    ]


def test_a_stream_that_is_longer_says_so():
    """And what the further responses are."""
    first = answer(Y=[1])
    assert [
        ("responses", False, "not as many"),
        ("response 1: Y", True, "the same"),
        ("response 2: Y", False, "the real server alone has it"),
    ] == found(answers(first), answers(first, first))


def test_parameters_and_final_flags_count():
    """The latter only where there are several responses."""
    plain, sent = Answer(), Answer(parameters={"n": 1}, final=False)

    assert [("parameters", False)] == [
        each[:2] for each in found(answers(plain), answers(sent)) if not each[1]
    ]
    many = found(answers(sent, plain), answers(plain, plain))
    assert [("response 1: parameters", False), ("response 1: final flag", False)] == [
        each[:2] for each in many if not each[1]
    ]
