"""Requests as a real server reads them."""

from __future__ import annotations

import pytest

from blsnb.pb_utils.message import RequestMessage
from blsnb.request_fields import RequestFields

messages = pytest.importorskip("blsnb.backends.remote_messages")


def sent(**fields) -> dict[str, object]:
    """Return the parameters of a request with some fields, with their kinds."""
    message = RequestMessage("model", (), (), RequestFields(**fields))
    built = messages.request_of(message, "model")
    found = ((name, value.WhichOneof("parameter_choice"), value)
             for name, value in built.parameters.items())  # fmt: skip
    return {name: (kind, getattr(value, kind)) for name, kind, value in found}


def test_each_field_has_its_parameter():
    """A real server schedules the request as blsnb would."""
    assert {
        "sequence_id": ("int64_param", 7),
        "sequence_start": ("bool_param", True),
        "sequence_end": ("bool_param", False),
        "timeout": ("int64_param", 50),
        "priority": ("int64_param", 2),
        "k": ("string_param", "v"),
    } == sent(
        correlation_id=7, flags=1, timeout_us=50, priority=2, parameters=(("k", "v"),)
    )


def test_most_requests_have_no_parameter():
    """The model sees those that its caller gave."""
    assert {} == sent(request_id="r")


def test_the_largest_priority_is_unsigned():
    """It has 64 bits."""
    assert {"priority": ("uint64_param", 2**64 - 1)} == sent(priority=2**64 - 1)
