"""Requests as messages of Triton's gRPC interface."""

from __future__ import annotations

import pytest

from blsnb.backends.remote_messages import netloc_of, request_of
from blsnb.pb_utils.message import RequestMessage
from blsnb.request_fields import SEQUENCE_START


def test_reserved_fields_are_sent_as_parameters():
    """Priority, timeout and sequence fields reach the remote scheduler."""
    message = RequestMessage(
        "m", (), correlation_id=7, flags=SEQUENCE_START, priority=2, timeout_us=500
    )
    sent = request_of(message, "m").parameters

    assert {
        "priority": 2,
        "sequence_end": False,
        "sequence_id": 7,
        "sequence_start": True,
        "timeout": 500,
    } == {
        name: getattr(value, value.WhichOneof("parameter_choice"))
        for name, value in sent.items()
    }


def test_only_grpc_addresses_are_valid():
    """An error contains the address and an example."""
    assert "localhost:8001" == netloc_of("grpc://localhost:8001/")
    for address in ("localhost:8001", "http://x:1", "grpc://", "grpc://x:1/y"):
        with pytest.raises(ValueError, match=f"address '{address}' is not valid"):
            netloc_of(address)
