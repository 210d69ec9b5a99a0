"""A served process at real limits of threads, descriptors and memory."""

from __future__ import annotations

import contextlib
import http.client
import json
import select
import socket
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import grpc
import pytest
from asserting import every
from attacks import Figures
from tritonclient.grpc import service_pb2 as pb
from tritonclient.grpc import service_pb2_grpc

from .conftest import body_of

WAIT_S = 60.0
SERVED = """
import os, resource, sys, threading
sys.path.insert(0, sys.argv[1])
import stage
from cells import CONFIG, DOUBLE, cell
from blsnb import Server
from blsnb.serving.endpoints import serve

def limit(name, more):
    # Above what is in use now.
    kind = getattr(resource, "RLIMIT_" + name)
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    if name == "NOFILE":
        used = max(map(int, os.listdir("/proc/self/fd"))) + 1
    resource.setrlimit(kind, (used + more, resource.getrlimit(kind)[1]))

def free():
    for kind in (resource.RLIMIT_AS, resource.RLIMIT_NOFILE):
        hard = resource.getrlimit(kind)[1]
        resource.setrlimit(kind, (hard, hard))

WAITING = cell("stage.events['go'].wait(60)\\nreturn [reply(x_of(request))]")
ASYNC = cell("return [reply(x_of(request))]", asynchronous=True)
many = CONFIG + "instance_group { kind: KIND_CPU count: 64 }"
with Server() as server:
    server.define("double", DOUBLE, config=CONFIG)
    server.define("waiting", WAITING, config=many)
    server.define("async", ASYNC, config=CONFIG)
    with serve(server, http=0, grpc=0, metrics=None) as endpoints:
        print(endpoints.ports["HTTP"], endpoints.ports["gRPC"], flush=True)
        for line in sys.stdin:
            exec(line)
            print("done", flush=True)
print(threading.active_count(), flush=True)
"""
MIB = 1 << 20


class Process:
    """A served process and its client."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process
        self.http_port, self.grpc_port = map(int, self._line().split())

    def _line(self) -> str:
        assert self._process.stdout is not None
        ready, _, _ = select.select([self._process.stdout], [], [], WAIT_S)
        assert ready
        return self._process.stdout.readline()

    def do(self, line: str) -> None:
        """Let the process execute a line of Python."""
        assert self._process.stdin is not None
        self._process.stdin.write(line + "\n")
        self._process.stdin.flush()
        assert "done\n" == self._line()

    def end(self) -> tuple[int, str, str]:
        """Close the process; return status, open files and reported faults."""
        out, err = self._process.communicate(timeout=WAIT_S)
        return self._process.returncode, out, err

    def connect(self, port: int = 0) -> socket.socket:
        """Return a new connection."""
        address = ("127.0.0.1", port or self.http_port)
        return socket.create_connection(address, timeout=WAIT_S)

    def send(self, model: str) -> http.client.HTTPConnection:
        """Send a request."""
        client = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=WAIT_S)
        client.request("POST", f"/v2/models/{model}/infer", json.dumps(body_of([1])))
        return client

    def infer(self, model: str) -> tuple[int, Any]:
        """Return the status and the response of a request."""
        return answer(self.send(model))

    def is_live(self) -> bool:
        """Whether health checks over both protocols succeed."""
        client = http.client.HTTPConnection("127.0.0.1", self.http_port, timeout=WAIT_S)
        client.request("GET", "/v2/health/live")
        with contextlib.closing(client):
            live = client.getresponse().status == 200
        with grpc.insecure_channel(f"127.0.0.1:{self.grpc_port}") as channel:
            stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
            request = pb.ServerLiveRequest()
            return live and stub.ServerLive(request, timeout=WAIT_S).live


def answer(client: http.client.HTTPConnection) -> tuple[int, Any]:
    """Return the status, and the outputs or the error."""
    with contextlib.closing(client):
        reply = client.getresponse()
        found = json.loads(reply.read())
    return reply.status, found.get("error") or found["outputs"][0]["data"]


@pytest.fixture
def process(request: pytest.FixtureRequest) -> Iterator[Process]:
    """A served process, ended by the test."""
    tests = str(request.config.rootpath / "tests")
    with subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SERVED, tests],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as started:
        try:
            yield Process(started)
        finally:
            if started.poll() is None:
                started.kill()


def test_a_process_without_threads_refuses_requests(process: Process) -> None:
    """The stacks of threads are so large that few fit into its address space."""
    process.infer("double")
    assert process.is_live()
    process.do(f"threading.stack_size({256 * MIB})")
    process.do(f"limit('AS', {1100 * MIB})")
    clients = [process.send("waiting") for _ in range(20)]
    refused = [
        answer(each) for each in clients if select.select([each.sock], [], [], 0.1)[0]
    ]

    assert 8 <= len(refused) < 20
    assert {503} == {status for status, _ in refused}
    assert every("no thread can be started" in text for _, text in refused)
    assert process.is_live()
    process.do("stage.events['go'].set()")
    served = [answer(each) for each in clients if each.sock is not None]
    assert [(200, [1.0])] * (20 - len(refused)) == served
    assert (200, [2.0]) == process.infer("double")
    process.do("free()")
    assert [200] * 20 == [process.infer("waiting")[0] for _ in range(20)]
    assert (0, "1\n", "") == process.end()


@pytest.mark.slow
def test_a_process_without_descriptors_continues(
    process: Process, figures: Figures
) -> None:
    """Idle connections are closed; requests that need a descriptor are refused."""
    assert process.is_live()
    process.do("limit('NOFILE', 8)")
    with contextlib.ExitStack() as stack:
        for _ in range(40):
            stack.enter_context(process.connect())
        assert (200, [2.0]) == process.infer("double")
        status, text = process.infer("async")
        assert (200, [2.0]) == process.infer("double")
    assert 503 == status
    assert "an event loop cannot be made: too many open files" in text
    process.do("free()")
    assert (200, [1.0]) == process.infer("async")
    assert process.is_live()
    code, left, err = process.end()
    assert (0, "1\n", "") == (code, left, err)
    figures(connections_without_descriptors=40)


@pytest.mark.slow
def test_grpc_continues_after_its_process_had_no_descriptors(
    process: Process, figures: Figures
) -> None:
    """Open connections are served throughout."""
    assert process.is_live()
    with grpc.insecure_channel(f"127.0.0.1:{process.grpc_port}") as channel:
        stub = service_pb2_grpc.GRPCInferenceServiceStub(channel)
        assert stub.ServerLive(pb.ServerLiveRequest(), timeout=WAIT_S).live
        process.do("limit('NOFILE', 4)")
        with contextlib.ExitStack() as stack:
            for _ in range(30):
                stack.enter_context(process.connect(process.grpc_port))
            assert stub.ServerLive(pb.ServerLiveRequest(), timeout=WAIT_S).live
        process.do("free()")
    assert process.is_live()
    assert 0 == process.end()[0]
    figures(connections_without_descriptors=30)


@pytest.mark.slow
def test_a_body_beyond_the_memory_harms_no_other_request(process: Process) -> None:
    """Its client gets an error, or loses its connection."""
    process.infer("double")
    assert process.is_live()
    process.do(f"limit('AS', {300 * MIB})")
    size = 400 * MIB
    head = f"POST /v2/models/double/infer HTTP/1.1\r\nContent-Length: {size}\r\n\r\n"
    with process.connect() as client, contextlib.suppress(ConnectionError):
        client.sendall(head.encode())
        for _ in range(size // MIB):
            client.sendall(bytes(MIB))
            if select.select([client], [], [], 0)[0]:
                break
        assert client.recv(100) in (b"", *(b"HTTP/1.1 503 Service Unavailable"[:100],))
    assert (200, [2.0]) == process.infer("double")
    assert process.is_live()
    process.do("free()")
    assert 0 == process.end()[0]
