"""Requests as messages of Triton's gRPC interface."""

from __future__ import annotations

import grpc
import pytest

from blsnb.backends import remote_standin
from blsnb.backends.remote_messages import netloc_of, request_of
from blsnb.pb_utils.message import RequestMessage
from blsnb.request_fields import RequestFields


def sent(**fields) -> dict[str, tuple[str, object]]:
    """Return the parameters of a request with some fields: kinds and values."""
    message = RequestMessage("m", (), (), RequestFields(**fields))
    parameters = request_of(message, "m").parameters.items()
    kinds = {name: value.WhichOneof("parameter_choice") for name, value in parameters}
    return {
        name: (kinds[name], getattr(value, kinds[name])) for name, value in parameters
    }


def test_reserved_fields_are_sent_as_parameters():
    """Priority, timeout and sequence fields reach the remote scheduler."""
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


def test_default_fields_are_not_sent():
    """The model sees only the parameters that its caller gave."""
    assert {} == sent(request_id="r")


def test_the_largest_priority_is_unsigned():
    """It has 64 bits."""
    assert {"priority": ("uint64_param", 2**64 - 1)} == sent(priority=2**64 - 1)


def test_only_grpc_addresses_are_valid():
    """An error contains the address and an example."""
    assert "localhost:8001" == netloc_of("grpc://localhost:8001/")
    for address in ("localhost:8001", "http://x:1", "grpc://", "grpc://x:1/y"):
        with pytest.raises(ValueError, match=f"address '{address}' is not valid"):
            netloc_of(address)


class Silent(grpc.RpcError):
    """A failure without a text."""

    def code(self):
        return grpc.StatusCode.UNAVAILABLE

    def details(self):
        return None


def test_a_failure_without_a_text_is_an_error():
    """A response is an error because it has a text, even an empty one."""
    response = remote_standin._failed(Silent())

    assert ("", "UNAVAILABLE") == (response.error, response.code)
