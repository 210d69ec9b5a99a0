"""Access control at the ports: restricted APIs, loads with files, Unix sockets."""

from __future__ import annotations

import http.client
import json
import socket
from pathlib import Path
from typing import Any

import grpc
import pytest
from cells import CONFIG, DOUBLE
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from blsnb.inference_server import Server
from blsnb.serving.access import CATEGORIES, GRPC_PREFIX, Access, restrict
from blsnb.serving.endpoints import serve

CALL_S = 60.0
ALL = ",".join(CATEGORIES)
KEY, GRPC_KEY = "key", f"{GRPC_PREFIX}key"
FILES = {"parameters": {"config": "{}", "file:1/model.py": "AAAA"}}
RESTRICTED = Access(
    http_restricted=restrict([(ALL, "key", "value")], "api"),
    grpc_restricted=restrict([(ALL, "key", "value")], "protocol", GRPC_PREFIX),
)


def ask(
    address: str, path: str, method: str = "GET", body: Any = None, **headers: str
) -> tuple[int, dict[str, str], bytes]:
    """Return status, headers and body of a response."""
    client = http.client.HTTPConnection(address, timeout=CALL_S)
    try:
        data = None if body is None else json.dumps(body)
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        client.request(method, path, data, named)
        response = client.getresponse()
        return response.status, dict(response.getheaders()), response.read()
    finally:
        client.close()


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/v2"),
        ("POST", "/v2"),
        ("OPTIONS", "/v2"),
        ("GET", "/v2/health/live"),
        ("GET", "/v2/models/m"),
        ("GET", "/v2/models/m/ready"),
        ("GET", "/v2/models/m/config"),
        ("GET", "/v2/models/stats"),
        ("POST", "/v2/models/m/infer"),
        ("POST", "/v2/models/m/generate"),
        ("GET", "/v2/models/m/trace/setting"),
        ("PUT", "/v2/logging"),
        ("POST", "/v2/repository/index"),
        ("POST", "/v2/repository/models/m/load"),
        ("GET", "/v2/systemsharedmemory/status"),
        ("GET", "/v2/cudasharedmemory/status"),
    ],
)
def test_a_restricted_api_needs_its_header(
    server: Server, method: str, path: str
) -> None:
    """It is checked before the method; the text is that of Triton 24.10."""
    with serve(server, http=0, grpc=None, metrics=None, access=RESTRICTED) as ends:
        address = ends.addresses["HTTP"]
        refused = ask(address, path, method)
        admitted = ask(address, path, method, KEY="value")

    text = b'{"error":"This API is restricted, expecting header \'key\'"}'
    assert (403, "text/plain", text) == (
        refused[0],
        refused[1]["Content-Type"],
        refused[2],
    )
    assert 403 != admitted[0]


def test_an_unknown_path_is_not_restricted(server: Server) -> None:
    """Triton does the same."""
    with serve(server, http=0, grpc=None, metrics=None, access=RESTRICTED) as ends:
        assert 404 == ask(ends.addresses["HTTP"], "/nope")[0]


@pytest.mark.parametrize(
    "method",
    [
        each.name
        for each in pb.DESCRIPTOR.services_by_name["GRPCInferenceService"].methods
    ],
)
def test_a_restricted_protocol_needs_its_metadata(server: Server, method: str) -> None:
    """The text is that of Triton 24.10."""
    request = getattr(pb, f"{method}Request", None) or pb.ModelInferRequest
    with (
        serve(server, http=None, grpc=0, metrics=None, access=RESTRICTED) as ends,
        grpc.insecure_channel(ends.addresses["gRPC"]) as channel,
    ):
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)

        def failure(*metadata: tuple[str, str]) -> str:
            stream = method == "ModelStreamInfer"
            message = iter([request()]) if stream else request()
            call = getattr(stub, method)
            try:
                found = call(message, metadata=metadata, timeout=CALL_S)
                for _ in found if stream else ():
                    pass
            except grpc.RpcError as error:
                return f"{error.code().name}: {error.details()}"
            return ""

        text = f"This protocol is restricted, expecting header '{GRPC_KEY}'"
        assert f"UNAVAILABLE: {text}" == failure()
        assert f"UNAVAILABLE: {text}" == failure((GRPC_KEY, "other"))
        assert text not in failure((GRPC_KEY, "value"))


def test_loads_with_files_are_refused_over_both_protocols(server: Server) -> None:
    """An option allows them; loads without files are not affected."""
    with serve(server, http=0, grpc=0, metrics=None) as ends:
        path = "/v2/repository/models/m/load"
        status, _, body = ask(ends.addresses["HTTP"], path, "POST", FILES)
        with grpc.insecure_channel(ends.addresses["gRPC"]) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            request = pb.RepositoryModelLoadRequest(model_name="m")
            request.parameters["config"].string_param = "{}"
            request.parameters["file:1/model.py"].bytes_param = b""
            with pytest.raises(grpc.RpcError) as failed:
                stub.RepositoryModelLoad(request, timeout=CALL_S)

    text = json.loads(body)["error"]
    assert 503 == status
    assert text.endswith("this server was started without --allow-load-files")
    assert text == failed.value.details()


def test_the_metrics_page_checks_the_host(server: Server) -> None:
    """A rebound name reads no metrics."""
    with serve(server, http=None, grpc=None, metrics=0) as ends:
        address = f"127.0.0.1:{ends.ports['metrics']}"
        assert 403 == ask(address, "/metrics", Host="evil.example")[0]
        assert 200 == ask(address, "/metrics", Host="localhost")[0]


def test_an_allowed_page_reads_responses_and_may_ask_first(server: Server) -> None:
    """A browser asks with OPTIONS before it sends JSON; errors are readable, too."""
    origin = "http://localhost:8888"
    access = Access(allow_origin=(origin,))
    with serve(server, http=0, grpc=None, metrics=None, access=access) as ends:
        address = ends.addresses["HTTP"]
        asked = {"Access_Control_Request_Headers": "content-type"}
        preflight = ask(address, "/v2", "OPTIONS", Origin=origin, **asked)
        answer = ask(address, "/v2/models/absent", Origin=origin)
        foreign = ask(address, "/v2", "OPTIONS", Origin="http://evil.example", **asked)

    allowed = "Access-Control-Allow-Origin"
    assert (204, origin) == (preflight[0], preflight[1][allowed])
    assert "content-type" == preflight[1]["Access-Control-Allow-Headers"]
    assert origin == answer[1][allowed]
    assert (403, False) == (foreign[0], allowed in foreign[1])


def test_unix_sockets_serve_both_protocols(server: Server, tmp_path: Path) -> None:
    """They are gone when the end points are closed; a stale one is replaced."""
    server.define("double", DOUBLE, config=CONFIG)
    folder = tmp_path / "sockets"
    folder.mkdir(mode=0o700)
    with socket.socket(socket.AF_UNIX) as stale:
        stale.bind(str(folder / "http.sock"))
    with serve(server, unix_sockets=folder) as ends:
        names = sorted(path.name for path in folder.iterdir())
        found = list(zip(ends.addresses.items(), ends.ports.items(), strict=True))
        with grpc.insecure_channel(ends.addresses["gRPC"]) as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            ready = stub.ModelReady(pb.ModelReadyRequest(name="double"), timeout=CALL_S)
        with socket.socket(socket.AF_UNIX) as client:
            client.connect(ends.addresses["HTTP"].removeprefix("unix:"))
            client.sendall(b"GET /v2/health/live HTTP/1.1\r\nHost: x\r\n\r\n")
            status = client.recv(15)
        with pytest.raises(OSError, match=r"is in use$"):
            serve(server, unix_sockets=folder, grpc=None, metrics=None)

    assert ["grpc.sock", "http.sock", "metrics.sock"] == names
    assert [
        ((name, f"unix:{folder / name.lower()}.sock"), (name, 0))
        for name in ("HTTP", "gRPC", "metrics")
    ] == found
    assert (True, b"HTTP/1.1 200 OK") == (ready.ready, status)
    assert [] == list(folder.iterdir())
