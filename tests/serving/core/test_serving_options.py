"""Options of the served ports, and headers that models receive."""

from __future__ import annotations

from typing import Any

import pytest

from blsnb.serving.core.cancellation import Cancellation
from blsnb.serving.core.parameters import RequestParameters, repeated_input, until_nul
from blsnb.serving.core.serving_options import ServingOptions, forwarded


def test_the_defaults_are_tritons() -> None:
    """A client sees the server's name, and a strict readiness."""
    options = ServingOptions()

    assert ("triton", True, None) == (
        options.server_id,
        options.strict_readiness,
        options.http_max_input_size,
    )
    assert 1 == ServingOptions(http_max_input_size=1).http_max_input_size


@pytest.mark.parametrize(
    ("option", "text"),
    [
        (
            {"http_max_input_size": 0},
            "http_max_input_size=0 is not valid; expected a number of bytes greater "
            "than 0",
        ),
        (
            {"http_header_forward_pattern": "("},
            "http_header_forward_pattern='(' is not a regular expression: missing ), "
            "unterminated subpattern at position 0",
        ),
        (
            {"grpc_header_forward_pattern": "*"},
            "grpc_header_forward_pattern='*' is not a regular expression: nothing to "
            "repeat at position 0",
        ),
    ],
)
def test_an_invalid_option_is_refused(option: dict[str, Any], text: str) -> None:
    """The error shows its name and value."""
    with pytest.raises(ValueError, match=next(iter(option))) as caught:
        ServingOptions(**option)
    assert text == str(caught.value)


@pytest.mark.parametrize(
    ("option", "expected"),
    [
        ({"http_max_input_size": 1.5}, "a number of bytes"),
        ({"trace": 3}, "a TraceSetting"),
        ({"strict_readiness": "yes"}, "True or False"),
        ({"server_id": None}, "a string"),
        ({"log_file": 5}, "a string"),
        ({"http_header_forward_pattern": b"x"}, "a string"),
    ],
)
def test_an_option_of_another_type_is_refused(
    option: dict[str, Any], expected: str
) -> None:
    """It would fail at the first request."""
    with pytest.raises(TypeError, match=f"^{next(iter(option))}=.*{expected}$"):
        ServingOptions(**option)


def test_headers_that_match_anywhere_are_forwarded() -> None:
    """The last of one name counts; bytes are UTF-8."""
    headers = [("X-A", "1"), ("x-b", b"\xc3\xa4\xff"), ("y", "2"), ("X-A", "3")]

    assert {"X-A": "3", "x-b": "ä\ufffd"} == forwarded("-[Ab]", headers)
    assert {} == forwarded("", headers)


def test_reserved_parameters_are_fields() -> None:
    """The others are parameters of the model."""
    parameters = RequestParameters({"a": 1})
    for name, value in (("sequence_id", 7), ("priority", 2), ("timeout", 3)):
        parameters.reserve(name, value)
    fields = parameters.fields(4, "id")

    assert (4, 7, 2, 3, "id", (("a", 1),)) == (
        fields.version,
        fields.correlation_id,
        fields.priority,
        fields.timeout_us,
        fields.request_id,
        fields.parameters,
    )


def test_a_repeated_input_has_tritons_text() -> None:
    """The id of the request ends at a NUL."""
    known, unknown = repeated_input("a\0b", "X"), repeated_input("\0b", "X")

    assert "[request id: a] input 'X' already exists in request" == known.message
    assert (
        "[request id: <id_unknown>] input 'X' already exists in request"
        == unknown.message
    )
    assert ["", "a", "a"] == [until_nul(text) for text in ("", "a", "a\0b\0c")]


def test_a_late_callback_runs_at_once() -> None:
    """The others run when the client leaves."""
    cancellation, ran = Cancellation(), list[str]()
    cancellation.add(lambda: ran.append("early"))
    assert ([], False) == (ran, cancellation.happened)
    cancellation.cancel()
    cancellation.add(lambda: ran.append("late"))

    assert (["early", "late"], True) == (ran, cancellation.happened)
