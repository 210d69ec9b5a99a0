"""Outcomes of one request on two servers, compared part by part."""

from __future__ import annotations

import numpy as np
import pytest

from blsnb.parity.checks import check
from blsnb.parity.triton.outcome import (
    NO_RESPONSE,
    WOULD_HANG,
    ClientFailure,
    ClientOutcome,
    ClientResponse,
)
from blsnb.tensors.convert import to_ref
from blsnb.tensors.tolerance import Tolerance


def outcome(*responses: ClientResponse) -> ClientOutcome:
    """Return an outcome with these responses."""
    return ClientOutcome(responses, 1_000_000)


def response(**outputs) -> ClientResponse:
    """Return a response with these outputs."""
    refs = [to_ref(n, np.asarray(value), None, 0) for n, value in outputs.items()]
    return ClientResponse(tuple(refs))


def failed(code: str, text: str) -> ClientOutcome:
    """Return an outcome that is an error."""
    return outcome(ClientResponse(failure=ClientFailure(code, text)))


def found(ours: ClientOutcome, theirs: ClientOutcome, *tolerance: float):
    """Return part, agreement and verdict of each check."""
    checks = check(ours, theirs, Tolerance(*tolerance))
    return [(each.what, each.agrees, each.verdict) for each in checks]


def parts(found):
    """Return what a check says, without the difference of an output."""
    return (found.what, found.actual, found.expected, found.verdict, found.agrees)


def test_outputs_are_compared_by_name():
    """An output of only one server is a difference."""
    ours = outcome(response(A=[1, 2], B=[1.5]))
    theirs = outcome(response(A=[1, 2], C=[b"x"]))

    assert [
        ("A", True, "all 2 the same"),
        ("B", False, "only on blsnb"),
        ("C", False, "only on the real server"),
    ] == found(ours, theirs)


def test_the_order_of_outputs_counts():
    """A client may read outputs by position."""
    checks = check(outcome(response(A=[1], B=[2])), outcome(response(B=[2], A=[1])))

    [order] = [each for each in checks if not each.agrees]
    assert ("order of outputs", "A, B", "B, A") == (
        order.what,
        order.actual,
        order.expected,
    )


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        (np.float32([1, 2]), np.float32([1, 2.5]), "1 of 2 differ, most by 0.5 at [1]"),
        ([b"a", b"b"], [b"a", b"c"], "1 of 2 differ, first at [1]"),
        (np.int8([1]), np.int32([1]), "different datatype; values the same"),
        (np.int8([1]), np.int8([[1]]), "different shape"),
        (np.float32([np.nan]), np.float32([0]), "1 of 1 differ, first at [0]"),
    ],
)
def test_the_verdict_contains_the_largest_deviation_and_its_index(ours, theirs, words):
    """Datatypes and shapes are compared before values."""
    assert [("Y", False, words)] == found(
        outcome(response(Y=ours)), outcome(response(Y=theirs))
    )


@pytest.mark.parametrize(
    ("atol", "rtol", "agrees"),
    [(0.5, 0, True), (0.4, 0, False), (0, 0.25, True), (0.1, 0.2, True), (0, 0, False)],
)
def test_a_tolerance_is_absolute_plus_relative(atol, rtol, agrees):
    """The relative part refers to the real server's value."""
    ours, theirs = (outcome(response(Y=np.float32([each]))) for each in (1.5, 2.0))
    [(_, agreed, words)] = found(ours, theirs, atol, rtol)

    assert agrees is agreed
    assert agrees is words.endswith("; within the tolerance")


def test_a_tolerance_applies_to_numbers_only():
    """Texts, datatypes and shapes must be equal."""
    for ours, theirs in (([b"a"], [b"b"]), (np.int8([1]), np.int16([1]))):
        [(_, agreed, _)] = found(
            outcome(response(Y=ours)), outcome(response(Y=theirs)), 9, 9
        )
        assert not agreed


def test_two_errors_are_compared_by_code_and_text():
    """A stream transports no codes: only the texts are compared."""
    same = failed("INTERNAL", "oh")
    assert [("error code", True, "the same"), ("error text", True, "the same")] == (
        found(same, same)
    )
    assert [("error code", False, "different"), ("error text", True, "the same")] == (
        found(same, failed("INVALID_ARG", "oh"))
    )
    assert [("error text", False, "different")] == found(same, failed("", "no"))


def test_an_error_on_one_server_is_a_difference():
    """The missing outputs are differences, too."""
    [first, second] = check(failed("INTERNAL", "oh"), outcome(response(Y=[1])))

    assert ("error", "[INTERNAL] oh", "a response", "only on blsnb", False) == (
        parts(first)
    )
    [other, _] = check(outcome(response(Y=[1])), failed("", "oh"))
    assert ("error", "a response", "oh", "only on the real server", False) == (
        parts(other)
    )
    assert ("Y", "", "INT64[1]: 1", False) == (
        second.what,
        second.actual,
        second.expected,
        second.agrees,
    )


def test_a_hang_on_both_servers_agrees():
    """A response of only one server is a difference."""
    hang, silence = (
        failed(WOULD_HANG, "waits"),
        failed(NO_RESPONSE, "no response in 1 s"),
    )
    answered = outcome(response(Y=[1]))
    other = failed("INTERNAL", "oh")

    pairs = [(hang, silence), (hang, answered), (answered, silence), (other, silence)]
    never = "no response in 1 s"
    assert [
        (
            "[WouldHang] waits",
            never,
            "the real server never responds, as blsnb reports",
            True,
        ),
        ("[WouldHang] waits", "a response", "only the real server responds", False),
        ("a response", never, "only blsnb responds", False),
        ("[INTERNAL] oh", never, "only blsnb responds", False),
    ] == [
        (each.actual, each.expected, each.verdict, each.agrees)
        for pair in pairs
        for each in check(*pair)
    ]
    assert {"response"} == {each.what for pair in pairs for each in check(*pair)}


def test_a_check_is_one_line():
    """Its repr has the part and the verdict."""
    ours, theirs = (outcome(response(Y=[n], Z=[1])) for n in (1, 2))

    assert [
        "<DIFFERENT Y: 1 of 1 differ, most by 1 at [0]>",
        "<same Z: the same>",
    ] == [repr(each) for each in check(ours, theirs)]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (np.float32(1.5), "FP32[]: 1.5"),
        ([1, 2, 3], "INT64[3]: 1, 2, 3"),
        ([1, 2, 3, 4], "INT64[4]"),
        (np.zeros((0, 2), bool), "BOOL[0, 2]: no elements"),
        ([b"a\xff"], "BYTES[1]: 'a\\\\xff'"),
        ([b"a" * 58], f"BYTES[1]: '{'a' * 58}'"),
        ([b"a" * 59], f"BYTES[1]: '{'a' * 58}…"),
    ],
)
def test_a_value_is_described_with_its_type_and_shape(value, text):
    """A few elements are shown, and the beginning of a long one."""
    [only] = check(outcome(response(Y=value)), outcome(response(Y=value)))

    assert (text, text) == (only.actual, only.expected)


def test_the_differing_element_of_a_large_tensor_is_described():
    """With its index."""
    ours, theirs = (
        outcome(response(Y=np.float64([[1, 2], [3, last]]))) for last in (4, 4.5)
    )
    [only] = check(ours, theirs)

    assert ("FP64[2, 2]: [1, 1] = 4.0", "FP64[2, 2]: [1, 1] = 4.5") == (
        only.actual,
        only.expected,
    )


def test_a_response_without_outputs_is_compared_by_its_fields():
    """Parameters are sorted."""
    ours = outcome(ClientResponse(parameters={"b": 1, "a": "x"}), ClientResponse())
    theirs = outcome(ClientResponse(), ClientResponse(final=False))

    assert [
        ("response 1: parameters", "a='x', b=1", "", "different"),
        ("response 1: outputs", "none", "none", "the same"),
        ("response 2: final flag", "True", "False", "different"),
        ("response 2: outputs", "none", "none", "the same"),
    ] == [
        (each.what, each.actual, each.expected, each.verdict)
        for each in check(ours, theirs)
    ]


def test_the_order_of_responses_has_the_first_that_moved():
    """Equal responses are matched one by one."""
    one, two = response(Y=[1]), response(Y=[2])
    [order] = check(outcome(one, one, two), outcome(two, one, one))

    assert ("response 1", "response 2") == (order.actual, order.expected)


def test_a_different_order_of_responses_is_one_difference():
    """Different responses are one difference each."""
    first, second, third = (response(Y=[number]) for number in range(3))
    assert [
        (
            "order of responses",
            False,
            "the same 3 responses in a different order, from 2 on",
        )
    ] == found(outcome(first, second, third), outcome(first, third, second))

    differing = found(outcome(first, second), outcome(first, third))
    assert [("response 1: Y", True), ("response 2: Y", False)] == [
        each[:2] for each in differing
    ]


def test_different_numbers_of_responses_are_a_difference():
    """Each further response is another one."""
    first = response(Y=[1])
    assert [
        ("number of responses", False, "different"),
        ("response 1: Y", True, "the same"),
        ("response 2: Y", False, "only on the real server"),
    ] == found(outcome(first), outcome(first, first))


def test_parameters_and_final_flags_are_compared():
    """Final flags are compared in streams only."""
    plain, sent = ClientResponse(), ClientResponse(parameters={"n": 1}, final=False)

    assert [("parameters", False)] == [
        each[:2] for each in found(outcome(plain), outcome(sent)) if not each[1]
    ]
    many = found(outcome(sent, plain), outcome(plain, plain))
    assert [("response 1: parameters", False), ("response 1: final flag", False)] == [
        each[:2] for each in many if not each[1]
    ]


def test_a_value_that_is_no_longer_kept_is_described_by_its_shape():
    """The other value is shown with its elements."""
    ours, theirs = (to_ref("A", np.array([1, 2]), None, 0) for _ in range(2))
    forgotten = ClientResponse((ours.without_data(),))
    [named, *_] = check(outcome(forgotten), outcome(ClientResponse((theirs,))))

    assert ("INT64[2]", "INT64[2]: 1, 2") == (named.actual, named.expected)
    assert ("values not compared", False) == (named.verdict, named.agrees)
