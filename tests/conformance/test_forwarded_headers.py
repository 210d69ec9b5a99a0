"""Headers that the server passes on to models as parameters of their requests."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tritonclient.grpc

from blsnb.inference_server import Server
from blsnb.parity.triton.environment import installed
from blsnb.parity.triton.server_process import TritonServer
from blsnb.serving.access import Access
from blsnb.serving.core.serving_options import ServingOptions
from blsnb.serving.endpoints import serve

from .over_http import HOST, Ask, End
from .targets import Target
from .triton_target import MORTAL

Agree = Callable[..., None]
HTTP, GRPC = "[xX]-.*", "x-.*"
CONFIG = """
backend: "python"
input { name: "X" data_type: TYPE_FP32 dims: [ -1 ] }
output { name: "P" data_type: TYPE_STRING dims: [ 1 ] }
"""
MODEL = """\
import numpy as np
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        texts = [np.array([each.parameters()], object) for each in requests]
        return [
            pb_utils.InferenceResponse([pb_utils.Tensor("P", text)]) for text in texts
        ]
"""
SENT = {"x-low": "1", "X-Up-Per": "2", "x-b": "header", "Other": "3", "prex-y": "4"}


class Ends:
    """The ports of a server that forwards headers."""

    def __init__(self, target: Target, folder: Path) -> None:
        repository = folder / f"{target.name}-models"
        repository.mkdir()
        self.close: Callable[[], Any]
        start = self._ours if target.name == "blsnb" else self._real
        http_port, self.grpc_port = start(repository)
        self.http = End(http_port, 0, repository, lambda: None)
        self.http.write("told", CONFIG, MODEL)

    def _ours(self, repository: Path) -> tuple[int, int]:
        server = Server(model_repository=repository, triton_release="24.10")
        options = ServingOptions(
            http_header_forward_pattern=HTTP, grpc_header_forward_pattern=GRPC
        )
        ends = serve(
            server, http=0, grpc=0, metrics=None, access=Access(), options=options
        )
        self.close = server.close
        return ends.ports["HTTP"], ends.ports["gRPC"]

    def _real(self, repository: Path) -> tuple[int, int]:
        env = installed()
        assert env is not None
        patterns = [
            f"--http-header-forward-pattern={HTTP}",
            f"--grpc-header-forward-pattern={GRPC}",
        ]
        log = repository.parent / "log"
        server = TritonServer(env, repository, log, [*MORTAL, *patterns])
        self.close = server.close
        return server.http_port, server.grpc_port


@pytest.fixture(scope="module")
def ends(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Return the ports of a target, started once."""
    started: dict[str, Ends] = {}

    def of(target: Target) -> Ends:
        if target.name not in started:
            started[target.name] = Ends(target, tmp_path_factory.mktemp("ends"))
        return started[target.name]

    yield of
    for each in started.values():
        each.close()


def told(answer: Sequence[Any]) -> Any:
    """Return what the model received; names that are sent twice count once."""
    return json.loads(answer[2]["outputs"][0]["data"][0])


BODY = {"inputs": [{"name": "X", "datatype": "FP32", "shape": [1], "data": [1]}]}
ASKS = {
    "parameters of the body": Ask(
        "/v2/models/told/infer",
        {**BODY, "parameters": {"a": 1, "x-b": "body"}},
        headers=SENT,
    ),
    "no parameters": Ask("/v2/models/told/infer", BODY, headers=SENT),
}


@pytest.mark.parametrize("name", ASKS)
def test_headers_over_http_reach_the_model(agree: Agree, ends: Any, name: str) -> None:
    """Those whose name matches anywhere, spelled as sent."""
    agree(lambda target: told(ends(target).http.ask(ASKS[name])))


def test_headers_of_a_raw_request_reach_the_model(agree: Agree, ends: Any) -> None:
    """The headers of a request in binary form are forwarded, too."""
    raw = {**SENT, "Inference-Header-Content-Length": "0"}
    ask = Ask("/v2/models/told/infer", b"\0" * 4, headers=raw)

    def case(target: Target) -> Any:
        *_, packed = ends(target).http.ask(ask)
        return json.loads(bytes.fromhex(packed)[4:])

    agree(case)


@pytest.mark.parametrize("kind", ["generate", "generate_stream"])
def test_generate_forwards_no_headers(agree: Agree, ends: Any, kind: str) -> None:
    """Only members of its object are parameters."""
    ask = Ask(f"/v2/models/told/{kind}", {"X": [1], "a": 1}, headers=SENT)

    agree(lambda target: ends(target).http.ask(ask))


@pytest.mark.parametrize("streams", [False, True], ids=["call", "stream"])
def test_metadata_over_grpc_reaches_the_model(
    agree: Agree, ends: Any, streams: bool
) -> None:
    """Calls have their own metadata, requests of a stream that of the stream."""

    def case(target: Target) -> Any:
        netloc = f"{HOST}:{ends(target).grpc_port}"
        given = tritonclient.grpc.InferInput("X", [1], "FP32")
        given.set_data_from_numpy(np.ones(1, np.float32))
        headers = {"x-low": "1", "x-b": "header", "other": "2"}
        parameters = {"a": 1, "x-b": "message"}
        results: list[Any] = []
        with tritonclient.grpc.InferenceServerClient(netloc) as client:
            if streams:
                client.start_stream(
                    lambda result, error: results.append(result or error),
                    headers=headers,
                )
                client.async_stream_infer("told", [given], parameters=parameters)
                client.stop_stream()
            else:
                results.append(
                    client.infer(
                        "told", [given], headers=headers, parameters=parameters
                    )
                )
        [result] = results
        return json.loads(result.as_numpy("P")[0])

    agree(case)
