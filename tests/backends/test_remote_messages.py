"""Requests as messages of Triton's gRPC interface."""

from __future__ import annotations

from types import SimpleNamespace

import grpc
import pytest
from cells import CONFIG, cell
from tritonclient.grpc import service_pb2 as wire

import blsnb
from blsnb.backends import remote_standin
from blsnb.backends.remote_messages import netloc_of, request_of
from blsnb.errors import ModelLoadError
from blsnb.pb_utils.message import RequestMessage
from blsnb.request_fields import RequestFields
from blsnb.serving.endpoints import serve

DECOUPLED = f"{CONFIG} model_transaction_policy {{ decoupled: true }}"


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


class Failing(grpc.RpcError):
    """A failure with a text, or without one."""

    def __init__(self, text):
        self.details = lambda: text

    def code(self):
        return grpc.StatusCode.UNAVAILABLE

    def result(self):
        raise self

    def cancel(self):
        """Do nothing: the request has ended."""


@pytest.mark.parametrize("text", [None, "Exceeds maximum queue size"])
def test_a_failure_of_a_live_server_is_its_own(monkeypatch, text):
    """A response is an error because it has a text, even an empty one."""
    live = wire.ServerLiveResponse(live=True)
    stub = SimpleNamespace(
        ModelInfer=SimpleNamespace(future=lambda *_, **__: Failing(text)),
        ServerLive=lambda *_, **__: live,
    )
    service = remote_standin.service_pb2_grpc
    monkeypatch.setattr(service, "GRPCInferenceServiceStub", lambda _: stub)
    config = SimpleNamespace(name="m", decoupled=False)
    instance = remote_standin.RemoteInstance(None, config, "grpc://localhost:1")
    [[response]] = instance.execute([RequestMessage("m", (), ())])

    assert (text or "", "UNAVAILABLE") == (response.error, response.code)


@pytest.mark.parametrize("config", [CONFIG, DECOUPLED])
def test_a_server_that_is_gone_is_named_with_its_model(server, config):
    """Also what to do: gRPC's own text has neither the model nor the server's name."""
    with blsnb.Server() as there:
        for each in (server, there):
            each.define("leaf", cell("return None"), config=config)
        ports = serve(there, http=None, grpc=0, metrics=None)
        address = f"grpc://{ports.addresses['gRPC']}"
        server.standin("leaf", remote=address)
    [response] = server.stream("leaf", {"X": [1.0]})
    advice = "Start a server there, or load the stand-in with another address."

    assert response.error.startswith(f"model 'leaf' at {address} does not respond: ")
    assert response.error.endswith(f". {advice}")
    with pytest.raises(ModelLoadError) as refused:
        server.standin("leaf", remote=address)
    assert advice == refused.value.advice
