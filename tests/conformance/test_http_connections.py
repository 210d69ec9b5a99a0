"""Connections over HTTP: where requests begin and end, and clients that disconnect."""

from __future__ import annotations

import gzip
import http.client
import json
import socket
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from waiting import until

from .over_http import CALL_S, HOST, Ask, End
from .targets import Target

Agree = Callable[..., None]
Served = Callable[[Target], End]
NO_HTTP = "invalid HTTP only closes the connection"
LENIENT = (
    "a method in lower case, and lines that end with `\\n` alone, are invalid HTTP"
)
VERSION = "a response over HTTP has the version of its request"
TRAILERS = "headers after the last chunk of a body are ignored"
BOTH_LENGTHS = (
    "after a request with both `Content-Length` and a chunked body the connection stays"
)
HALF = (
    "a client that has closed its half of a connection over HTTP still receives the "
    "response, after a chunked request, too"
)
HEAD = "a response to `HEAD` has a body"

BODY = json.dumps(
    {
        "inputs": [
            {"name": name, "datatype": "FP32", "shape": [4], "data": [1, 2, 3, 4]}
            for name in "AB"
        ]
    }
).encode()
INFER = b"/v2/models/add/infer"
LIVE = b"GET /v2/health/live HTTP/1.1\r\nHost: localhost\r\n\r\n"
"""A request that no model of the server affects."""


def post(
    body: bytes = BODY, *more: bytes, length: int | None = None, version: bytes = b"1.1"
) -> bytes:
    """Return an inference request as bytes."""
    said = b"Content-Length: %d" % (len(body) if length is None else length)
    lines = [b"POST %b HTTP/%b" % (INFER, version), b"Host: localhost", said, *more]
    return b"\r\n".join([*lines, b"", body])


def chunks(*parts: bytes, after: bytes = b"") -> bytes:
    """Return an inference request with a chunked body."""
    head = (
        b"POST %b HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        % INFER
    )
    sent = b"".join(b"%x\r\n%b\r\n" % (len(part), part) for part in parts)
    return b"%b%b0\r\n%b\r\n" % (head, sent, after)


def in_bytes(sent: bytes) -> list[bytes]:
    """Return a request in parts; the real server may misread a divided path."""
    line, end, rest = sent.partition(b"\r\n")
    return [line + end, *(bytes([each]) for each in rest)]


class Line:
    """A connection, and what was received on it."""

    def __init__(self, end: End) -> None:
        self.socket = socket.create_connection((HOST, end.port), timeout=CALL_S)
        self._file = self.socket.makefile("rb")

    def __enter__(self) -> Line:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self.socket.close()

    def send(self, data: bytes) -> None:
        """Send bytes; the server may have closed the connection."""
        try:
            self.socket.sendall(data)
        except OSError:
            return

    def answer(self, verb: str = "GET") -> Any:
        """Return the next response, or that the connection is closed."""
        try:
            line = self._file.readline()
            if not line:
                return "closed"
            headers = http.client.parse_headers(self._file)
            size = int(headers.get("Content-Length", 0)) if verb != "HEAD" else 0
            body = self._file.read(size)
        except ConnectionResetError:
            return "closed"
        version, status, _ = line.decode().split(" ", 2)
        said = [headers.get(name, "") for name in ("Content-Type", "Connection")]
        return [version, int(status), *said, body.decode("latin-1")]

    def then(self) -> Any:
        """Return the response to another request."""
        self.send(LIVE)
        return self.answer()


SENT: dict[str, list[bytes]] = {
    "a body": [post()],
    "no length": [b"POST %b HTTP/1.1\r\nHost: localhost\r\n\r\n" % INFER],
    "a length twice": [post(BODY, b"Content-Length: %d" % len(BODY))],
    "a body, byte by byte": in_bytes(post()),
    "one chunk": [chunks(BODY)],
    "chunks": [chunks(BODY[:9], BODY[9:])],
    "chunks, byte by byte": in_bytes(chunks(BODY)),
    "chunks in large letters": [chunks(BODY).replace(b"chunked", b"Chunked")],
    "gzip": [post(gzip.compress(BODY), b"Content-Encoding: gzip")],
    "deflate": [post(zlib.compress(BODY), b"Content-Encoding: deflate")],
    "a packing that is unknown": [post(BODY, b"Content-Encoding: br")],
    "no host": [post().replace(b"Host: localhost\r\n", b"")],
    "a whole address": [post().replace(INFER, b"http://h" + INFER)],
    "a query": [post().replace(INFER, INFER + b"?a=b")],
    "a fragment": [post().replace(INFER, INFER + b"#a")],
    "a verb that nobody knows": [post().replace(b"POST", b"FOO")],
    "the last one": [post(BODY, b"Connection: close")],
    "an upgrade": [post(BODY, b"Connection: Upgrade", b"Upgrade: websocket")],
    "headers in plenty": [post(BODY, *(b"A%d: b" % each for each in range(500)))],
}


@pytest.mark.parametrize("name", SENT)
def test_a_request_begins_and_ends(agree: Agree, served: Served, name: str) -> None:
    """The connection may serve another one."""

    def case(target: Target) -> Any:
        with Line(served(target).have("add")) as line:
            for part in SENT[name]:
                line.send(part)
            return [line.answer(), line.then()]

    agree(case)


def test_headers_after_the_last_chunk_are_passed_over(
    agree: Agree, served: Served
) -> None:
    """They are ignored, and the request succeeds."""

    def case(target: Target) -> Any:
        with Line(served(target).have("add")) as line:
            line.send(chunks(BODY, after=b"A: b\r\nC: d\r\n"))
            return line.answer()

    def check(known: Any, seen: Any) -> None:
        assert 200 == known[1]
        assert 400 == seen[1]

    agree(case, deviates=TRAILERS, ours=check)


@pytest.mark.parametrize("length", [len(BODY), len(BODY) + 11, 5, 0])
def test_chunks_end_a_body_with_a_length(
    agree: Agree, served: Served, length: int
) -> None:
    """The length counts as that of the JSON text; the connection ends."""
    sent = chunks(BODY).replace(b"Host:", b"Content-Length: %d\r\nHost:" % length, 1)

    def case(target: Target) -> Any:
        with Line(served(target).have("add")) as line:
            line.send(sent)
            return [line.answer(), line.then()]

    def check(known: Any, seen: Any) -> None:
        assert (known[0][:3], known[0][-1]) == (seen[0][:3], seen[0][-1])
        assert 200 == known[1][1]
        assert ["close", "closed"] == [seen[0][3], seen[1]]

    agree(case, deviates=BOTH_LENGTHS, ours=check)


@pytest.mark.parametrize(
    "sent",
    [
        post(version=b"1.0"),
        post(BODY, b"Connection: keep-alive", version=b"1.0"),
        post(version=b"1.2"),
    ],
    ids=["old", "old, and stays", "newer"],
)
def test_clients_of_another_version_are_answered(
    agree: Agree, served: Served, sent: bytes
) -> None:
    """The response is of HTTP 1.1."""

    def case(target: Target) -> Any:
        with Line(served(target).have("add")) as line:
            line.send(sent)
            return line.answer()

    def check(known: Any, seen: Any) -> None:
        assert (known[1], known[-1]) == (seen[1], seen[-1])
        assert "HTTP/1.1" == seen[0]

    agree(case, deviates=VERSION, ours=check)


@pytest.mark.parametrize(
    "sent",
    [LIVE.replace(b"GET", b"get"), LIVE.replace(b"\r\n", b"\n")],
    ids=["a verb in small letters", "half ends of lines"],
)
def test_what_is_nearly_http(agree: Agree, served: Served, sent: bytes) -> None:
    """It is accepted."""

    def case(target: Target) -> Any:
        with Line(served(target)) as line:
            line.send(sent)
            return [line.answer(), line.then()]

    def check(known: Any, seen: Any) -> None:
        assert ["closed", "closed"] == known
        assert seen[0][1] in (200, 405)
        assert 200 == seen[1][1]

    agree(case, deviates=LENIENT, ours=check)


def test_a_client_may_ask_before_it_sends_a_body(agree: Agree, served: Served) -> None:
    """It receives 100 Continue."""

    def case(target: Target) -> Any:
        with Line(served(target).have("add")) as line:
            line.send(post(b"", b"Expect: 100-continue", length=len(BODY)))
            told = line.answer()
            line.send(BODY)
            return [told, line.answer(), line.then()]

    agree(case)


BROKEN: dict[str, bytes] = {
    "no verb": b"hello\r\n\r\n",
    "no path": b"GET HTTP/1.1\r\n\r\n",
    "the next protocol": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "a length below zero": post(length=-1),
    "a length that is none": post().replace(b"Length: ", b"Length: x"),
    "a length with a sign": post().replace(b"Length: ", b"Length: +"),
    "a header without a colon": LIVE.replace(b"Host: localhost", b"Host"),
    "a header without a name": LIVE.replace(b"Host", b""),
    "a header in two lines": LIVE.replace(b"localhost\r\n", b"localhost\r\n y\r\n"),
    "a blank in the path": LIVE.replace(b"/live", b"/ live"),
    "a chunk without a size": chunks(BODY).replace(b"\r\n\r\n", b"\r\n\r\nzz", 1),
    "a chunk that is too long": chunks(BODY).replace(b"\r\n0\r\n", b"XX0\r\n"),
    "a chunk with more than a size": chunks(BODY).replace(b"\r\n{", b";a=b\r\n{"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_http_ends_the_connection(
    agree: Agree, served: Served, name: str
) -> None:
    """The begin of the next request would be unknown."""

    def case(target: Target) -> Any:
        with Line(served(target)) as line:
            line.send(BROKEN[name])
            return [line.answer(), line.then()]

    def check(known: Any, seen: Any) -> None:
        assert ["closed", "closed"] == known
        assert [["HTTP/1.1", 400, "", "", ""], "closed"] == seen

    agree(case, deviates=NO_HTTP, ours=check)


def test_what_follows_a_body_that_is_longer_than_it_says(
    agree: Agree, served: Served
) -> None:
    """It is not a request."""

    def case(target: Target) -> Any:
        with Line(served(target).have("add")) as line:
            line.send(post(length=len(BODY) - 3))
            return [line.answer(), line.then()]

    def check(known: Any, seen: Any) -> None:
        assert known[0][1] == seen[0][1] == 500
        assert known[0][-1] == seen[0][-1]
        assert "closed" == known[1]
        assert 400 == seen[1][1]

    agree(case, deviates=NO_HTTP, ours=check)


def test_requests_that_are_sent_ahead(agree: Agree, served: Served) -> None:
    """Pipelined requests are answered in order."""

    def case(target: Target) -> Any:
        with Line(served(target).have("add")) as line:
            line.send(LIVE + post())
            first = line.answer()
            # The real server comes to the second when something more is sent.
            line.send(LIVE)
            return [first, line.answer()]

    agree(case)


@pytest.mark.parametrize("path", [INFER, b"/v2", b"/v2/health/live"])
def test_a_head_is_asked_for(agree: Agree, served: Served, path: bytes) -> None:
    """No path supports the method; clients expect no body."""

    def case(target: Target) -> Any:
        with Line(served(target)) as line:
            line.send(
                b"HEAD %b HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"
                % path
            )
            return [line.answer("HEAD"), line._file.read().decode()]

    def check(known: Any, seen: Any) -> None:
        assert known[0] == seen[0]
        assert '{"error":"Method Not Allowed"}' == known[1]
        assert "" == seen[1]

    agree(case, deviates=HEAD, ours=check)


WAITING = """
import os
import threading
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def initialize(self, args):
        self.folder = args["model_repository"]
    def execute(self, requests):
        open(os.path.join(self.folder, "begun"), "w").close()
        while not os.path.exists(os.path.join(self.folder, "go")):
            threading.Event().wait(0.005)
        said = [request.is_cancelled() for request in requests]
        with open(os.path.join(self.folder, "part"), "w") as file:
            file.write(str(said))
        os.rename(file.name, os.path.join(self.folder, "ended"))
        return [pb_utils.InferenceResponse([
            pb_utils.Tensor("Y", np.array([each], np.float32))]) for each in said]
"""
STREAMING = """
import os
import threading
import numpy as np
import triton_python_backend_utils as pb_utils
class TritonPythonModel:
    def initialize(self, args):
        self.folder = args["model_repository"]
    def execute(self, requests):
        sender = requests[0].get_response_sender()
        for _ in range(4000):
            y = pb_utils.Tensor("Y", np.zeros(1, np.float32))
            sender.send(pb_utils.InferenceResponse([y]))
            threading.Event().wait(0.005)
            if sender.is_cancelled():
                break
        said = sender.is_cancelled()
        sender.send(flags=pb_utils.TRITONSERVER_RESPONSE_COMPLETE_FINAL)
        with open(os.path.join(self.folder, "part"), "w") as file:
            file.write(str(said))
        os.rename(file.name, os.path.join(self.folder, "ended"))
"""
CONFIG = """
backend: "python"
input { name: "X" data_type: TYPE_FP32 dims: [ 1 ] }
output { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] }
"""
DECOUPLED = CONFIG + "model_transaction_policy { decoupled: true }"
ASKED: dict[str, Any] = {
    "infer": {"inputs": [{"name": "X", "datatype": "FP32", "shape": [1], "data": [1]}]},
    "generate": {"X": 1},
    "generate_stream": {"X": 1},
}


def exists(path: Path) -> bool:
    """Wait until a file exists."""
    return until(path.exists)


def infer(line: Line, model: str, kind: str) -> None:
    """Send a request on a connection."""
    body = json.dumps(ASKED[kind]).encode()
    head = f"POST /v2/models/{model}/{kind} HTTP/1.1\r\nContent-Length: {len(body)}"
    line.send(f"{head}\r\n\r\n".encode() + body)


@pytest.fixture
def waiting(served: Served) -> Callable[[Target, str], End]:
    """Return a server with a model that waits for a file, or streams."""

    def end(target: Target, name: str) -> End:
        found = served(target)
        source, config = (
            (STREAMING, DECOUPLED) if name == "streaming" else (WAITING, CONFIG)
        )
        found.write(name, config, source)
        return found

    return end


def sent_all(target: Target, waiting: Any, name: str, request: bytes) -> Any:
    """Return the response to a client that has closed its half."""
    end = waiting(target, name)
    with Line(end) as line:
        line.send(request.replace(INFER, b"/v2/models/%b/infer" % name.encode()))
        assert exists(end.repository / name / "begun")
        line.socket.shutdown(socket.SHUT_WR)
        noticed = end.ask(Ask("/v2/health/live"))
        (end.repository / name / "go").touch()
        return [noticed, line._file.read().partition(b"\r\n\r\n")[2].decode()]


def test_who_has_sent_all_that_it_will(agree: Agree, waiting: Any) -> None:
    """It may wait for the response."""
    request = post(json.dumps(ASKED["infer"]).encode())

    agree(lambda target: sent_all(target, waiting, "half", request))


def test_who_has_sent_all_that_it_will_in_chunks(agree: Agree, waiting: Any) -> None:
    """Its connection ends without a response."""
    request = chunks(json.dumps(ASKED["infer"]).encode())

    def check(known: Any, seen: Any) -> None:
        assert '"model_name":"half_chunks"' in known[1]
        assert "" == seen[1]

    def case(target: Target) -> Any:
        return sent_all(target, waiting, "half_chunks", request)

    agree(case, deviates=HALF, ours=check)


@pytest.mark.parametrize("kind", ["infer", "generate", "generate_stream"])
def test_who_leaves_before_its_answer_cancels_nothing(
    agree: Agree, waiting: Any, kind: str
) -> None:
    """The model continues and cannot notice it."""

    def case(target: Target) -> Any:
        name = f"left_{kind}"
        end = waiting(target, name)
        with Line(end) as line:
            infer(line, name, kind)
            assert exists(end.repository / name / "begun")
        noticed = [end.ask(Ask("/v2/health/live")) for _ in range(2)]
        (end.repository / name / "go").touch()
        ended = end.repository / name / "ended"
        assert exists(ended)
        return [noticed, ended.read_text()]

    agree(case)


def test_who_leaves_a_stream_cancels_it(agree: Agree, waiting: Any) -> None:
    """The model can check that."""

    def case(target: Target) -> Any:
        end = waiting(target, "streaming")
        with Line(end) as line:
            infer(line, "streaming", "generate_stream")
            line._file.readline()
        ended = end.repository / "streaming" / "ended"
        assert exists(ended)
        return ended.read_text()

    agree(case)
