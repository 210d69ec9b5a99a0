"""Specification of requests to another server: answers, and errors that name it."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

import blsnb
from blsnb.errors import TritonServerError
from blsnb.watch.server_http import ServerHttp

SETTINGS = bytes.fromhex("000000040000000000")
"""The first bytes of a gRPC server: an empty SETTINGS frame of HTTP/2."""


@pytest.fixture(scope="module")
def port():
    """A server of this process with Triton's HTTP interface."""
    with blsnb.Server() as server:
        endpoints = server.serve(http=0, grpc=None, metrics=None)
        yield endpoints.ports["HTTP"]


@pytest.fixture
def http(port):
    """Requests to it."""
    return ServerHttp(f"http://127.0.0.1:{port}")


def test_an_answer_is_read_as_json(http):
    """Changes are sent with POST, and nothing with GET."""
    assert "triton" == http.read("/v2")["name"]
    assert [] == http.read("/v2/repository/index", {})


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/v2/models/missing", ": HTTP 404 .*unknown model"),
        ("/v2/nothing", ": HTTP 404 "),
        ("/v2/health/ready", r" answers no JSON; is this its HTTP port\?$"),
    ],
)
def test_an_error_names_the_server(http, path, said):
    """It has the status and the text of the answer."""
    name = f"the server at http://{http.host}"
    with pytest.raises(TritonServerError, match=rf"^{name}:\d+{said}"):
        http.read(path)


def error_of(answer):
    """Return the error of a request that a port answers with some bytes."""
    with socket.create_server(("127.0.0.1", 0)) as other:
        http = ServerHttp(f"127.0.0.1:{other.getsockname()[1]}")
        with ThreadPoolExecutor(1) as pool:
            read = pool.submit(http.read, "/v2")
            connection, _ = other.accept()
            with connection:
                assert connection.recv(1 << 16)
                connection.sendall(answer)
            error = read.exception(10)
    assert isinstance(error, TritonServerError)
    return str(error).removeprefix(http.name)


def test_an_answer_of_another_protocol_is_an_error():
    """The port of gRPC may have been taken for that of HTTP."""
    text = " does not respond with HTTP; is this its HTTP port?"
    assert text == error_of(SETTINGS)


def test_a_long_error_is_shown_in_part():
    """It may be a page of a proxy."""
    page = b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 400\r\n\r\n" + b"x" * 400
    assert f": HTTP 502 {'x' * 300}" == error_of(page)


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "", "http://"])
def test_an_address_that_is_not_http_is_refused(url):
    """An example shows what is expected."""
    with pytest.raises(ValueError, match=r"^url=") as refused:
        ServerHttp(url)

    assert (
        f"url={url!r} is not valid; expected the address of a server's HTTP port, such "
        "as 'http://127.0.0.1:8000'"
    ) == str(refused.value)
